// Stands in for CUDA's header of this name.
#pragma once
#include "cuda_fp16.h"
#include "kbemu/bf16.h"
#include "kbemu/atomics_bf16.h"
