#include <cstdint>

__global__ void vote(const int* in, int* all, int* any, int* uniform, unsigned* ballots, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = i < n ? in[i] : 0;
    const unsigned ballot = __ballot_sync(0xffffffff, value & 1);
    const int all_odd = __all_sync(0xffffffff, value & 1);
    const int any_large = __any_sync(0xffffffff, value > 95);
    const int same_sign = __uni_sync(0xffffffff, value >= 50);
    unsigned upper = 0;
    if (threadIdx.x % 32 >= 16) upper = __ballot_sync(0xffff0000, value > 50);
    if (threadIdx.x % 32 == 16) {
        const int warp = i / 32;
        all[warp] = all_odd != 0;
        any[warp] = any_large != 0;
        uniform[warp] = same_sign != 0;
        ballots[2 * warp] = ballot;
        ballots[2 * warp + 1] = upper;
    }
}

extern "C" void run(const int* in, int* all, int* any, int* uniform, uint32_t* ballots, int64_t n,
                    cudaStream_t stream) {
    vote<<<(n + 63) / 64, 64, 0, stream>>>(in, all, any, uniform, ballots, n);
}
