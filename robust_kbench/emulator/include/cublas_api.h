// cuBLAS on the processor: see kbemu/cublas_*.h.
#pragma once
#include "kbemu/cuda.h"
#include "kbemu/cublas_handle.h"
#include "kbemu/cublas_products.h"
#include "kbemu/cublas_types.h"
#include "kbemu/cublas_vectors.h"
