// What threads of a warp and of a block do together, and other intrinsics that are no arithmetic.
#pragma once
#include "kbemu/barriers.h"
#include "kbemu/cache_hints.h"
#include "kbemu/control.h"
#include "kbemu/memory_spaces.h"
#include "kbemu/removed_intrinsics.h"
#include "kbemu/shuffle.h"
#include "kbemu/votes.h"
