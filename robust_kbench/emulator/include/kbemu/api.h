// The CUDA runtime API as host code uses it. Every piece of work ends before the call that starts it returns.
#pragma once
#include "kbemu/copies.h"
#include "kbemu/device_memory.h"
#include "kbemu/device_queries.h"
#include "kbemu/errors.h"
#include "kbemu/graphs.h"
#include "kbemu/kernel_attributes.h"
#include "kbemu/launch_functions.h"
#include "kbemu/occupancy.h"
#include "kbemu/streams.h"
#include "kbemu/symbols.h"
