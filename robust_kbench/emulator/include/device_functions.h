// Stands in for CUDA's header of this name.
#pragma once
#include "kbemu/cuda.h"
