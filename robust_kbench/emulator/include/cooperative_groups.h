#pragma once
#include "kbemu/cooperative_groups.h"
