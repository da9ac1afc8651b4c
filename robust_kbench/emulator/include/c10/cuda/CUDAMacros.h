// Nothing is exported from a library of torch's here.
#pragma once
#define C10_CUDA_EXPORT
#define C10_CUDA_IMPORT
#define C10_CUDA_API
#define C10_COMPILE_TIME_MAX_GPUS 1
