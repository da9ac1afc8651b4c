// Stands in for CUDA's header of this name.
#pragma once
#include "cuda_bf16.h"
