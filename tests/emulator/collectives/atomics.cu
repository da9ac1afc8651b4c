// Atomic functions, called by 8 blocks of 64 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void integers(int* x, unsigned* u, unsigned long long* l) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    atomicAdd(&x[0], i);
    atomicSub(&x[1], 2);
    atomicMin(&x[2], 300 - i);
    atomicMax(&x[3], i - 300);
    atomicAnd(&x[4], ~(1 << i % 31));
    atomicOr(&x[5], 1 << i % 31);
    atomicXor(&x[6], i);
    atomicExch(&x[7], i);
    atomicInc(&u[0], 10);
    atomicDec(&u[1], 10);
    atomicMax(&u[2], i - 300);
    atomicAdd_block(&u[3], 1u);
    atomicAdd_system(&u[4], 1u);
    atomicAdd(&l[0], 1ull << 33);
    atomicMin((long long*)&l[1], -(long long)i);
    atomicMax(&l[2], (unsigned long long)i);
}

__global__ void floats(float* f, double* d, __half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2) {
    atomicAdd(f, 0.25f);
    atomicAdd(f + 1, 3);
    atomicAdd(d, 0.25);
    atomicAdd(h, __float2half(0.25f));
    atomicAdd(h2, __floats2half2_rn(0.25f, 0.5f));
    atomicAdd(b, __float2bfloat16(0.25f));
    atomicAdd(b2, __floats2bfloat162_rn(0.25f, 0.125f));
}

// A maximum of floats, and a sum of 16-bit numbers.
__global__ void loops(unsigned* bits_of_maximum, unsigned short* sum) {
    const float mine = (blockIdx.x * 64 + threadIdx.x) * 0.5f;
    unsigned seen = atomicCAS(bits_of_maximum, 0u, 0u);
    while (__uint_as_float(seen) < mine) {
        const unsigned expected = seen;
        seen = atomicCAS(bits_of_maximum, expected, __float_as_uint(mine));
        if (seen == expected) break;
    }
    unsigned short old = 0, expected;
    do {
        expected = old;
        old = atomicCAS(sum, expected, (unsigned short)(expected + 3));
    } while (old != expected);
}

__global__ void subnormals(float* global, float* out) {
    __shared__ float shared;
    if (threadIdx.x == 0) shared = 1e-40f;
    __syncthreads();
    if (threadIdx.x < 2) atomicAdd(&shared, 1e-40f);
    if (threadIdx.x < 2) atomicAdd(global, 1e-40f);
    __syncthreads();
    if (threadIdx.x == 0) *out = shared;
}

__global__ void misaligned(char* bytes) {
    if (threadIdx.x == 0) atomicAdd((int*)(bytes + 2), 1);  // misaligned
}

extern "C" void run_integers(int* x, unsigned* u, unsigned long long* l) { integers<<<8, 64>>>(x, u, l); }
extern "C" void run_floats(float* f, double* d, __half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2) {
    floats<<<8, 64>>>(f, d, h, h2, b, b2);
}
extern "C" void run_loops(unsigned* maximum, unsigned short* sum) { loops<<<8, 64>>>(maximum, sum); }
extern "C" void run_subnormals(float* global, float* out) { subnormals<<<1, 64>>>(global, out); }
extern "C" void run_misaligned(char* bytes) { misaligned<<<1, 32>>>(bytes); }
