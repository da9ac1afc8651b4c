// The four shuffles on segments of 4, 8 and 16 lanes, out-of-segment sources included: those keep the lane's own value.
#include <cstdint>

template <int WIDTH>
__device__ void shuffle_segments(int value, int* out) {
    out[0] = __shfl_sync(0xffffffffu, value, 3, WIDTH);
    out[32] = __shfl_sync(0xffffffffu, value, WIDTH + 1, WIDTH);  // wraps around within the segment
    out[64] = __shfl_up_sync(0xffffffffu, value, 2, WIDTH);
    out[96] = __shfl_down_sync(0xffffffffu, value, 3, WIDTH);
    out[128] = __shfl_xor_sync(0xffffffffu, value, WIDTH - 1, WIDTH);
}

__global__ void shuffle_kernel(const int* in, int* out) {
    const int lane = threadIdx.x;
    const int value = in[lane];
    shuffle_segments<4>(value, out + lane);
    shuffle_segments<8>(value, out + lane + 160);
    shuffle_segments<16>(value, out + lane + 320);
}

extern "C" void run(const int* in, int* out, cudaStream_t stream) { shuffle_kernel<<<1, 32, 0, stream>>>(in, out); }
