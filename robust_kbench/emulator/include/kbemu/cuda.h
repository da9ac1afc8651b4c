// What every kernel sees before its first line.
#pragma once
#include "kbemu/qualifiers.h"
#include "kbemu/runtime.h"
#include "kbemu/vector_types.h"
#include "kbemu/math.h"
#include "kbemu/fast_math.h"
#include "kbemu/integers.h"
#include "kbemu/conversions.h"
#include "kbemu/warp.h"
#include "kbemu/atomics.h"
#include "kbemu/streams.h"
#include "kbemu/launch.h"
#include "kbemu/api.h"
