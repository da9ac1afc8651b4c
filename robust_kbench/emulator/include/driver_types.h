// All of it is in the emulator's prelude, which precedes every kernel.
#pragma once
#include "kbemu/cuda.h"
