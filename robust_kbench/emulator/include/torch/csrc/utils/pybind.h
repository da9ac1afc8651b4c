// See torch/extension.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <torch/csrc/utils/pybind.h>
#else
#include "kbemu/torch/reduced.h"
#endif
