#pragma once
#include "kbemu/cub/block_scan.h"
