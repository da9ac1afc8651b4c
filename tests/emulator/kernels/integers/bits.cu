#include <cstdint>

__global__ void bits(const int* in, const int64_t* wide, int* out, int64_t* longs, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = in[i];
    const long long w = wide[i];
    int* y = out + 8 * i;
    y[0] = __popc(x);
    y[1] = __clz(x);
    y[2] = __ffs(x);
    y[3] = static_cast<int>(__brev(x));
    y[4] = __popcll(w);
    y[5] = __clzll(w);
    y[6] = __ffsll(w);
    y[7] = abs(x / 4) + max(x, 3) % 1000 - min(x, 5) % 1000;
    longs[2 * i] = __brevll(w);
    longs[2 * i + 1] = llabs(w / 4) + max(w, 7ll) / 2;
}

extern "C" void run(const int* in, const int64_t* wide, int* out, int64_t* longs, int64_t n, cudaStream_t stream) {
    bits<<<(n + 31) / 32, 32, 0, stream>>>(in, wide, out, longs, n);
}
