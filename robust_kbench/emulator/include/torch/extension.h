// The part of torch's C++ interface that kernels use, at a tenth of the time that the whole takes to compile.
// KBEMU_TORCH_FULL asks for the whole.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include "kbemu/torch/options.h"
#include "kbemu/torch/without_cuda_begin.h"
#include_next <torch/extension.h>
#include "kbemu/torch/without_cuda_end.h"
#include "kbemu/torch/devices.h"
#else
#include "kbemu/torch/reduced.h"
#endif
