#pragma once
#include "kbemu/cub/block_load_store.h"
