// A per-thread array indexed by data: insertion sort of eight values a thread, and a counting table.
#include <cstdint>

__global__ void sort_groups(const int* in, int* out, int* modes, int groups) {
    const int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= groups) return;
    int values[8];
    unsigned char counts[16] = {0};
#pragma unroll
    for (int k = 0; k < 8; ++k) values[k] = in[g * 8 + k];
    for (int k = 1; k < 8; ++k) {
        const int held = values[k];
        int j = k - 1;
        while (j >= 0 && values[j] > held) {
            values[j + 1] = values[j];
            --j;
        }
        values[j + 1] = held;
    }
    int mode = 0;
    for (int k = 0; k < 8; ++k) counts[values[k] & 15]++;
    for (int k = 1; k < 16; ++k) {
        if (counts[k] > counts[mode]) mode = k;
    }
    for (int k = 0; k < 8; ++k) out[g * 8 + k] = values[k];
    modes[g] = mode;
}

extern "C" void run(const int* in, int* out, int* modes, int64_t groups, cudaStream_t stream) {
    sort_groups<<<(groups + 31) / 32, 32, 0, stream>>>(in, out, modes, groups);
}
