#pragma once
#include "kbemu/cub/block_exchange.h"
