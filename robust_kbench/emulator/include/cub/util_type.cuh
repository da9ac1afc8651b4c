#pragma once
#include "kbemu/cub/operators.h"
