// Exclusive scan of a long vector: work-efficient scans of blocks, scan of their totals, addition of offsets.
#include <cstdint>

constexpr int ELEMENTS = 128;
constexpr int THREADS = ELEMENTS / 2;

__device__ __forceinline__ int padded(int i) { return i + i / 32; }

__global__ void scan_blocks(const int* in, int* out, int* totals, int n) {
    __shared__ int temp[ELEMENTS + ELEMENTS / 32];
    const int t = threadIdx.x, base = blockIdx.x * ELEMENTS;
    temp[padded(t)] = base + t < n ? in[base + t] : 0;
    temp[padded(t + THREADS)] = base + t + THREADS < n ? in[base + t + THREADS] : 0;
    int offset = 1;
    for (int d = THREADS; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            const int a = padded(offset * (2 * t + 1) - 1), b = padded(offset * (2 * t + 2) - 1);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (t == 0) {
        if (totals != nullptr) totals[blockIdx.x] = temp[padded(ELEMENTS - 1)];
        temp[padded(ELEMENTS - 1)] = 0;
    }
    for (int d = 1; d < ELEMENTS; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int a = padded(offset * (2 * t + 1) - 1), b = padded(offset * (2 * t + 2) - 1);
            const int held = temp[a];
            temp[a] = temp[b];
            temp[b] += held;
        }
    }
    __syncthreads();
    if (base + t < n) out[base + t] = temp[padded(t)];
    if (base + t + THREADS < n) out[base + t + THREADS] = temp[padded(t + THREADS)];
}

__global__ void add_offsets(int* out, const int* offsets, int n) {
    const int i = blockIdx.x * ELEMENTS + threadIdx.x;
    if (i < n) out[i] += offsets[blockIdx.x];
}

extern "C" void run(const int* in, int* out, int64_t n, cudaStream_t stream) {
    const int blocks = (n + ELEMENTS - 1) / ELEMENTS;  // at most ELEMENTS
    int *totals, *offsets;
    cudaMalloc(&totals, blocks * sizeof(int));
    cudaMalloc(&offsets, blocks * sizeof(int));
    scan_blocks<<<blocks, THREADS, 0, stream>>>(in, out, totals, n);
    scan_blocks<<<1, THREADS, 0, stream>>>(totals, offsets, nullptr, blocks);
    add_offsets<<<blocks, ELEMENTS, 0, stream>>>(out, offsets, n);
    cudaStreamSynchronize(stream);
    cudaFree(totals);
    cudaFree(offsets);
}
