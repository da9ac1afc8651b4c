// Macros that declare kernels, that launch them, that choose among instances, and that check errors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                            \
    do {                                                                                            \
        cudaError_t err = (call);                                                                   \
        if (err != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err));            \
            abort();                                                                                \
        }                                                                                           \
    } while (0)

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

#define DEFINE_UNARY(name, expression)                              \
    __global__ void name##_kernel(const int* in, int* out, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;              \
        if (i < n) {                                                \
            int x = in[i];                                          \
            out[i] = expression;                                    \
        }                                                           \
    }

DEFINE_UNARY(square, x* x)
DEFINE_UNARY(halve, x / 2)

#define LAUNCH(kernel, n, stream, ...) kernel<<<CEIL_DIV(n, 64), 64, 0, stream>>>(__VA_ARGS__)

template <int STEP>
__global__ void strided(const int* in, int* out, int n) {
    for (int i = threadIdx.x * STEP; i < n; i += blockDim.x * STEP) {
        for (int k = i; k < min(i + STEP, n); ++k) out[k] = in[k] + STEP;
    }
}

#define DISPATCH_STEP(step, ...)            \
    switch (step) {                         \
        case 2: {                           \
            constexpr int STEP = 2;         \
            __VA_ARGS__;                    \
            break;                          \
        }                                   \
        case 4: {                           \
            constexpr int STEP = 4;         \
            __VA_ARGS__;                    \
            break;                          \
        }                                   \
    }

extern "C" void run(const int* in, int* squares, int* halves, int* stepped, int64_t n, int64_t step,
                    cudaStream_t stream) {
    LAUNCH(square_kernel, (int)n, stream, in, squares, (int)n);
    CUDA_CHECK(cudaGetLastError());
    LAUNCH(halve_kernel, (int)n, stream, in, halves, (int)n);
    DISPATCH_STEP(step, strided<STEP><<<1, 32, 0, stream>>>(in, stepped, n));
    CUDA_CHECK(cudaPeekAtLastError());
}
