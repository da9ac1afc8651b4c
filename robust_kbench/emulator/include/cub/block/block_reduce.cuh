#pragma once
#include "kbemu/cub/block_reduce.h"
