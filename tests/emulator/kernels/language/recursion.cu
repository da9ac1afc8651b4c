// Recursive device functions: Ackermann's function, and a depth-first sum over an implicit binary tree.
#include <cstdint>

__device__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int64_t sum_tree(const int* values, int node, int count) {
    if (node >= count) return 0;
    return values[node] + sum_tree(values, 2 * node + 1, count) - sum_tree(values, 2 * node + 2, count);
}

__global__ void recurse(const int* values, int* ack, int64_t* sums, int n) {
    const int t = threadIdx.x;
    if (t < 10) ack[t] = ackermann(t % 3, t);
    if (t < n) sums[t] = sum_tree(values, t, n);
}

extern "C" void run(const int* values, int* ack, int64_t* sums, int64_t n, cudaStream_t stream) {
    recurse<<<1, 64, 0, stream>>>(values, ack, sums, n);
}
