#pragma once
#include "kbemu/cub/warp.h"
