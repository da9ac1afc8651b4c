// What <mma.h> declares: tensor cores as warp-wide matrix multiplications. Sub-byte and 1-bit types are left out.
#pragma once
#include "kbemu/wmma/memory.h"
#include "kbemu/wmma/multiply.h"
