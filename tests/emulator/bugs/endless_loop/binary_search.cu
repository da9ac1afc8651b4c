// A binary search that never leaves an interval of two elements.
#include <cstdint>

__global__ void rank(const float* sorted, const float* values, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    int low = 0;
    int high = n;
    while (low < high) {                      // finding: work_limit
        const int middle = (low + high) / 2;  // finding: work_limit
        if (sorted[middle] < values[i]) {     // finding: work_limit
#ifdef BUG
            low = middle;  // finding: work_limit
#else
            low = middle + 1;
#endif
        } else {
            high = middle;  // finding: work_limit
        }
    }
    y[i] = low;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    rank<<<(n + 31) / 32, 32, 0, stream>>>(x, x + n, y, n);
}
