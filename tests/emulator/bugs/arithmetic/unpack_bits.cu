// Fields of three bits that cross from one word to the next: when they do not, the second shift is too wide.
#include <cstdint>

__global__ void unpack(const unsigned* words, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int word = 3 * i / 32;
        const int bit = 3 * i % 32;
        unsigned field = words[word] >> bit;
#ifdef BUG
        field |= words[word + 1] << (32 - bit);  // finding: shift_width
#else
        if (bit > 0) {
            field |= words[word + 1] << (32 - bit);
        }
#endif
        y[i] = field & 7u;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    unpack<<<(n + 63) / 64, 64, 0, stream>>>(reinterpret_cast<const unsigned*>(x), y, n);
}
