#pragma once
#include "kbemu/cub/block_histogram.h"
