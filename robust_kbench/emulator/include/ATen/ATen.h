// See torch/extension.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <ATen/ATen.h>
#else
#include "kbemu/torch/reduced.h"
#endif
