// Stands in for CUDA's header of this name.
#pragma once
#include "kbemu/cuda.h"
#include "kbemu/fp16.h"
#include "kbemu/atomics_fp16.h"
