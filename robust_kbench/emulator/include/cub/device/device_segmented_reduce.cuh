#pragma once
#include "kbemu/cub/device_reduce.h"
