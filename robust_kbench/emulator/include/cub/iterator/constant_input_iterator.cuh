#pragma once
#include "kbemu/cub/iterators.h"
