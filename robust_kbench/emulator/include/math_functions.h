// Stands in for CUDA's header of this name.
#pragma once
#include "kbemu/fast_math.h"
#include "kbemu/math.h"
