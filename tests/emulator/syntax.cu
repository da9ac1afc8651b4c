// CUDA's own syntax in the forms that are hard to rewrite. Every function writes i + 1 to x[i], for 64 elements.
#include <cuda_runtime.h>

#define LAUNCH(kernel, ...) \
    kernel<<<2, \
             dim3(32, 1)>>>(__VA_ARGS__)
#define TILE(T, name, n) __shared__ T name[n]
#define SHARED volatile __shared__
#define HALF(N) kernel_##N<<<1, 32>>>(x + N)

namespace tables {
__constant__ int one[4] = {1, 1, 1, 1};
__device__ int offsets[2];
}  // namespace tables

extern __shared__ __align__(16) float of_the_file[];

template <class T, int N>
struct Sizes {
    static constexpr int threads = N;
    struct Storage {
        T values[N];
    };
};

__device__ int rank() { return blockIdx.x * 32 + threadIdx.x; }

template <class T, int N>
__global__ void __launch_bounds__(Sizes<T, N>::threads, 1) forms(T* x, const int* none) {
    __shared__ typename Sizes<T, N>::Storage
        storage;
    __shared__ __align__(16) T aligned[3][N], scalar;
    __shared__ struct {
        T left, right;
    } pairs[N], *null;
    TILE(T, by_macro, N);
    SHARED int seen;
    int __shared__ last;

    const int i = threadIdx.x;
    auto store = [=](T value) {
        storage.values[i] = value;
        aligned[2][i] = value;
        pairs[i].left = value;
    };
    if (i == 0) [] { scalar = 1; seen = last = 3; }();
    if (i == 1) null = nullptr;
    store(static_cast<T>(rank()));
    by_macro[i] = 0;
    __syncthreads();
    const bool good = aligned[2][i] == pairs[i].left && seen == last && none == nullptr && null == nullptr;
    const bool is_aligned = reinterpret_cast<unsigned long long>(aligned) % 16 == 0;
    x[rank()] = good && is_aligned ? storage.values[i] + scalar : by_macro[i];
}

__global__ void dynamic(float* x) {
    extern __shared__ float4 vectors[];
    of_the_file[threadIdx.x] = rank();
    __syncthreads();
    x[rank()] = reinterpret_cast<float*>(vectors)[threadIdx.x] + 1;
}

__global__ void kernel_0(float* x) { x[threadIdx.x] = threadIdx.x + tables::one[0]; }
__global__ void kernel_32(float* x) { x[threadIdx.x] = threadIdx.x + 32 + tables::one[3]; }
__global__ void with_table(float* x) { x[rank()] = threadIdx.x + tables::offsets[blockIdx.x]; }

template <class Kernel, class... Arguments>
void launch_with(Kernel kernel, Arguments... arguments) {
    kernel<<<2, 32>>>(arguments...);
}

extern "C" {

void by_macro(float* x) { LAUNCH((forms<float, 32>), x, NULL); }

void by_template(float* x) { forms<float, (1 > 0 ? 32 : 16)><<<dim3{2}, 32, 0, nullptr>>>(x, NULL); }

void by_pointer(float* x) {
    auto chosen = &forms<float, 32>;
    (*chosen)<<<2, 32>>>(x, nullptr);
}

void by_pack(float* x) { launch_with(forms<float, 32>, x, static_cast<const int*>(nullptr)); }

void by_pasted_name(float* x) {
    HALF(0);
    HALF(32);
}

void by_function(float* x) {
    const int* none = nullptr;
    void* arguments[] = {&x, &none};
    cudaLaunchKernel((const void*)forms<float, 32>, dim3(2), dim3(32), arguments, 0, nullptr);
}

// More than 48 KiB have to be allowed, here by one name and used by another.
void with_much_dynamic_memory(float* x) {
    const int bytes = 64 << 10;
    cudaFuncSetAttribute((void*)dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    auto same = dynamic;
    same<<<2, 32, bytes>>>(x);
}

void with_a_symbol(float* x) {
    const int values[] = {1, 33};
    cudaMemcpyToSymbol(tables::offsets, values, sizeof values);
    with_table<<<2, 32>>>(x);
}

}  // extern "C"
