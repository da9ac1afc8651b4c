#pragma once
#include "kbemu/pipeline_primitives.h"
