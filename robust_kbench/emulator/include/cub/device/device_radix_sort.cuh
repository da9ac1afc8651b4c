#pragma once
#include "kbemu/cub/device_radix_sort.h"
