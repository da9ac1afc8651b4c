// CUDA's keywords and built-in variables, as a C++ compiler without CUDA can read them.
#pragma once
// Before any header of the C library declares them: what is called by these names is PTX's (runtime/extremes.cpp).
extern "C" {
float fmaxf(float, float) noexcept __asm__("kbemu_fmaxf");
float fminf(float, float) noexcept __asm__("kbemu_fminf");
double fmax(double, double) noexcept __asm__("kbemu_fmax");
double fmin(double, double) noexcept __asm__("kbemu_fmin");
}

#include <climits>
#include <cstddef>
#include <cstdint>

#include "kbemu/dimensions.h"

// Sources that ask are told the truth: a CUDA compiler for compute capability 8.0, emulated.
#define KBENCH_EMULATED 1
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDA_ARCH__ 800
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __inline__ inline
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

// Variables and no macros: host code may have locals of these names.
#define KBEMU_PER_THREAD thread_local __attribute__((tls_model("initial-exec")))
extern KBEMU_PER_THREAD uint3 threadIdx;
extern KBEMU_PER_THREAD uint3 blockIdx;
extern KBEMU_PER_THREAD dim3 blockDim;
extern KBEMU_PER_THREAD dim3 gridDim;
static constexpr int warpSize = 32;
