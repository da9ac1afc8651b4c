#pragma once
#include "cooperative_groups.h"
#include "kbemu/cooperative_groups/memcpy_async.h"
