// One dynamic allocation cut into arrays of four types. out[i] = weight[rank[i]] * flag[i] + base[i] per block.
#include <cstdint>

template <int THREADS>
__global__ void gather_local(const float* x, const double* base, double* out, int n) {
    extern __shared__ __align__(16) unsigned char smem[];
    double* bases = reinterpret_cast<double*>(smem);
    float* weights = reinterpret_cast<float*>(bases + THREADS);
    short* ranks = reinterpret_cast<short*>(weights + THREADS);
    bool* flags = reinterpret_cast<bool*>(ranks + THREADS);

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    const int last = n - blockIdx.x * THREADS - 1 < THREADS - 1 ? n - blockIdx.x * THREADS - 1 : THREADS - 1;
    if (i < n) {
        bases[t] = base[i];
        weights[t] = x[i];
        ranks[t] = static_cast<short>(last - t);
        flags[t] = x[i] > 0.0f;
    }
    __syncthreads();
    if (i < n) {
        const int other = ranks[t];
        out[i] = (flags[other] ? weights[other] : 0.0f) + bases[other];
    }
}

extern "C" void run(const float* x, const double* base, double* out, int64_t n, cudaStream_t stream) {
    constexpr int threads = 72;
    const size_t bytes = threads * (sizeof(double) + sizeof(float) + sizeof(short) + sizeof(bool));
    gather_local<threads><<<(n + threads - 1) / threads, threads, bytes, stream>>>(x, base, out, (int)n);
}
