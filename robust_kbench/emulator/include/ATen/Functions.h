// Operators are declared one by one: see kbemu/torch/reduced.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <ATen/Functions.h>
#else
#include "kbemu/torch/reduced.h"
#endif
