// See torch/extension.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <torch/python.h>
#else
#include "kbemu/torch/reduced.h"
#endif
