// Containers need no header of their own here: see kbemu/python/values.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <pybind11/stl.h>
#else
#include "kbemu/python/module.h"
#endif
