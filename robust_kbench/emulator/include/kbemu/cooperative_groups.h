// What <cooperative_groups.h> declares.
#pragma once
#include "kbemu/cooperative_groups/grid.h"
#include "kbemu/cooperative_groups/invoke.h"
#include "kbemu/cooperative_groups/partition.h"
