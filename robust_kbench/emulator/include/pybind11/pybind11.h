// A module's functions, without the rest of pybind11: see kbemu/python/module.h.
#pragma once
#ifdef KBEMU_TORCH_FULL
#include_next <pybind11/pybind11.h>
#else
#include "kbemu/python/module.h"
#endif
