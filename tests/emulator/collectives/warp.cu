// What a warp does together: the tests compare with PTX's definition.
#include <cuda_fp16.h>

// For each width 1, 2, ... 32 and each operand: the lane that was read.
__global__ void shuffles(int* from) {
    const int lane = threadIdx.x;
    for (int bits = 0; bits <= 5; ++bits) {
        for (int operand = 0; operand < 64; ++operand, from += 4 * 32) {
            from[lane] = __shfl_sync(0xffffffff, lane, operand, 1 << bits);
            from[32 + lane] = __shfl_up_sync(0xffffffff, lane, operand, 1 << bits);
            from[64 + lane] = __shfl_down_sync(0xffffffff, lane, operand, 1 << bits);
            from[96 + lane] = __shfl_xor_sync(0xffffffff, lane, operand, 1 << bits);
        }
    }
}

__global__ void shuffled_types(double* out) {
    const int lane = threadIdx.x;
    const half2 pair = __shfl_xor_sync(0xffffffff, __floats2half2_rn(lane, -lane), 1);
    out[lane] = __shfl_sync(0xffffffff, lane + 0.1, 3);
    out[32 + lane] = __shfl_sync(0xffffffff, (1ll << 40) + lane, 3);
    out[64 + lane] = __shfl_sync(0xffffffff, lane / 2.0f, 3);
    out[96 + lane] = __low2float(pair) + 100 * __high2float(pair);
    out[128 + lane] = sizeof(__shfl_sync(0xffffffff, (signed char)lane, 3));
}

__global__ void inactive(float* out) {
    if (threadIdx.x < 16) {
        out[threadIdx.x] = __shfl_down_sync(0xffff, (float)threadIdx.x, 8);  // inactive
    }
}

__global__ void votes(const int* predicate, const unsigned* masks, unsigned* out) {
    const int lane = threadIdx.x;
    const unsigned mask = masks[0];
    if (mask >> lane & 1) {
        out[lane] = __ballot_sync(mask, predicate[lane]);
        out[32 + lane] = __any_sync(mask, predicate[lane]);
        out[64 + lane] = __all_sync(mask, predicate[lane]);
        out[96 + lane] = __uni_sync(mask, predicate[lane]);
    }
}

__global__ void matches(const int* values, unsigned* out) {
    const int lane = threadIdx.x;
    int same = -1;
    out[lane] = __match_any_sync(0xffffffff, values[lane]);
    out[32 + lane] = __match_all_sync(0xffffffff, values[lane], &same);
    out[64 + lane] = same;
    out[96 + lane] = __match_any_sync(0xffffffff, (double)values[lane]);
}

__global__ void reductions(const int* values, int* out) {
    const int lane = threadIdx.x, value = values[lane];
    const unsigned bits = value;
    out[lane] = __reduce_add_sync(0xffffffff, value);
    out[32 + lane] = __reduce_min_sync(0xffffffff, value);
    out[64 + lane] = __reduce_max_sync(0xffffffff, value);
    out[96 + lane] = __reduce_min_sync(0xffffffff, bits);
    out[128 + lane] = __reduce_max_sync(0xffffffff, bits);
    out[160 + lane] = __reduce_and_sync(0xffffffff, bits);
    out[192 + lane] = __reduce_or_sync(0xffffffff, bits);
    out[224 + lane] = __reduce_xor_sync(0xffffffff, bits);
}

__global__ void counted_barriers(const int* predicate, int* out) {
    const int i = threadIdx.x;
    out[i] = __syncthreads_count(predicate[i]);
    out[blockDim.x + i] = __syncthreads_and(predicate[i]);
    out[2 * blockDim.x + i] = __syncthreads_or(predicate[i]);
}

__global__ void shared_addresses(int* out) {
    __shared__ int tile[64];
    const unsigned address = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    *(int*)__cvta_shared_to_generic(address) = 3 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x] + 1000 * __isShared(tile) + 10000 * __isGlobal(out);
}

__global__ void asserts(int* out) {
    out[threadIdx.x] = 1;
    assert(threadIdx.x != 5);  // assert
}

extern "C" void run_shuffles(int* from) { shuffles<<<1, 32>>>(from); }
extern "C" void run_shuffled_types(double* out) { shuffled_types<<<1, 32>>>(out); }
extern "C" void run_inactive(float* out) { inactive<<<1, 32>>>(out); }
extern "C" void run_votes(const int* p, const unsigned* m, unsigned* out) { votes<<<1, 32>>>(p, m, out); }
extern "C" void run_matches(const int* values, unsigned* out) { matches<<<1, 32>>>(values, out); }
extern "C" void run_reductions(const int* values, int* out) { reductions<<<1, 32>>>(values, out); }
extern "C" void run_counted_barriers(const int* p, int* out) { counted_barriers<<<1, 70>>>(p, out); }
extern "C" void run_shared_addresses(int* out) { shared_addresses<<<1, 64>>>(out); }
extern "C" int run_asserts(int* out) {
    asserts<<<1, 32>>>(out);
    return cudaDeviceSynchronize();
}
