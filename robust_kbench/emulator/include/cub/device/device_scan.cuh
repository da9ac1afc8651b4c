#pragma once
#include "kbemu/cub/device_scan.h"
