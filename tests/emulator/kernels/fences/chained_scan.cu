// Scan in one pass over memory: a block adds the total that its predecessor publishes. Blocks number themselves in the
// order in which they start, so that nobody waits for a block that has not begun.
#include <cstdint>

constexpr int BLOCK = 64;

__device__ unsigned int next_ticket;
__device__ unsigned int published[64];
__device__ int totals[64];

__global__ void reset() {
    if (threadIdx.x == 0) next_ticket = 0;
    published[threadIdx.x] = 0;
}

__global__ void chained_scan(const int* in, int* out, int n) {
    __shared__ int values[2][BLOCK];
    __shared__ unsigned int ticket;
    __shared__ int carry;
    const int t = threadIdx.x;
    if (t == 0) ticket = atomicAdd(&next_ticket, 1u);
    __syncthreads();
    const unsigned int part = ticket;
    const int i = part * BLOCK + t;

    int from = 0;
    values[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < BLOCK; offset *= 2) {
        values[1 - from][t] = values[from][t] + (t >= offset ? values[from][t - offset] : 0);
        from = 1 - from;
        __syncthreads();
    }

    if (t == 0) {
        int before = 0;
        if (part > 0) {
            while (atomicAdd(&published[part - 1], 0u) == 0u) {
            }
            __threadfence();
            before = totals[part - 1];
        }
        totals[part] = before + values[from][BLOCK - 1];
        __threadfence();
        atomicExch(&published[part], 1u);
        carry = before;
    }
    __syncthreads();
    if (i < n) out[i] = values[from][t] + carry;
}

extern "C" void run(const int* in, int* out, int64_t n, cudaStream_t stream) {
    reset<<<1, 64, 0, stream>>>();
    chained_scan<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(in, out, n);
}
