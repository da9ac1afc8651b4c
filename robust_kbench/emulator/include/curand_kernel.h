// cuRAND for kernels: the generators that need no tables. Sobol sequences and MTGP32 are missing.
#pragma once
#include "kbemu/curand/normal.h"
#include "kbemu/curand/uniform.h"
