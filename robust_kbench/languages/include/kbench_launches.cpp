// What the custom track's kernels are launched through: with KBENCH_KNOCKED_OUT in the environment no launch does
// anything (see checking/knock_out.py). The linker puts each function in the place of CUDA's own of that name.
#include <cstdlib>
#include <cuda_runtime_api.h>

namespace {

bool is_knocked_out() {
    static const bool is_set = std::getenv("KBENCH_KNOCKED_OUT") != nullptr;
    return is_set;
}

}  // namespace

#define WRAPPED(NAME, PARAMETERS, ARGUMENTS)                               \
    extern "C" __attribute__((weak)) cudaError_t __real_##NAME PARAMETERS; \
    extern "C" cudaError_t __wrap_##NAME PARAMETERS { return is_knocked_out() ? cudaSuccess : __real_##NAME ARGUMENTS; }

// <<<>>> calls one of the first two, as nvcc's release has it.
WRAPPED(cudaLaunchKernel, (const void* kernel, dim3 grid, dim3 block, void** values, size_t shared, cudaStream_t stream),
        (kernel, grid, block, values, shared, stream))
#if CUDART_VERSION >= 13000
WRAPPED(__cudaLaunchKernel,
        (cudaKernel_t kernel, dim3 grid, dim3 block, void** values, size_t shared, cudaStream_t stream),
        (kernel, grid, block, values, shared, stream))
#endif
WRAPPED(cudaLaunchCooperativeKernel,
        (const void* kernel, dim3 grid, dim3 block, void** values, size_t shared, cudaStream_t stream),
        (kernel, grid, block, values, shared, stream))
WRAPPED(cudaLaunchKernelExC, (const cudaLaunchConfig_t* launch, const void* kernel, void** values),
        (launch, kernel, values))
