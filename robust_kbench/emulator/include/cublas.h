// The older name of the same functions.
#pragma once
#include "cublas_api.h"
