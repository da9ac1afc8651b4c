// The usual name of cuBLAS.
#pragma once
#include "cublas_api.h"
