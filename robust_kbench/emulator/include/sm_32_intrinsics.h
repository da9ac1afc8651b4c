#pragma once
#include "kbemu/cuda.h"
