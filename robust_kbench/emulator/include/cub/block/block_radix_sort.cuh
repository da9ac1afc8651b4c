#pragma once
#include "kbemu/cub/block_radix_sort.h"
