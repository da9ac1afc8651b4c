// See torch/extension.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <torch/all.h>
#else
#include "kbemu/torch/reduced.h"
#endif
