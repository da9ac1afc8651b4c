#pragma once
#include "kbemu/cub/block_discontinuity.h"
