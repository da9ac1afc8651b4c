// Sums, differences, extremes and bits of int, unsigned and 64-bit counters under contention.
#include <climits>
#include <cstdint>

__global__ void accumulate(const int* in, int* signeds, unsigned* unsigneds, unsigned long long* wide,
                           long long* wide_signed, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int value = in[i];
        const unsigned bits = static_cast<unsigned>(value);
        atomicAdd(&signeds[0], value);
        atomicSub(&signeds[1], value);
        atomicMin(&signeds[2], value);
        atomicMax(&signeds[3], value);
        atomicAnd(&signeds[4], value | 3);
        atomicOr(&signeds[5], value & 0xff);
        atomicXor(&signeds[6], value);
        atomicAdd(&unsigneds[0], bits);
        atomicSub(&unsigneds[1], bits);
        atomicMin(&unsigneds[2], bits);
        atomicMax(&unsigneds[3], bits);
        atomicAnd(&unsigneds[4], bits | 5u);
        atomicOr(&unsigneds[5], bits & 0xff00u);
        atomicXor(&unsigneds[6], bits);
        atomicAdd(&wide[0], static_cast<unsigned long long>(bits) << 20);
        atomicMin(&wide[1], static_cast<unsigned long long>(bits) * 3ull);
        atomicMax(&wide[2], static_cast<unsigned long long>(bits) * 5ull);
        atomicXor(&wide[3], static_cast<unsigned long long>(bits) << 31);
        atomicOr(&wide[4], 1ull << (bits % 64));
        atomicAnd(&wide[5], ~(1ull << (bits % 61)));
        atomicMin(&wide_signed[0], value * 100000ll);
        atomicMax(&wide_signed[1], value * 100000ll);
    }
}

__global__ void reset(int* signeds, unsigned* unsigneds, unsigned long long* wide, long long* wide_signed) {
    const int t = threadIdx.x;
    if (t < 7) signeds[t] = t == 2 ? INT_MAX : t == 3 ? INT_MIN : t == 4 ? -1 : 0;
    if (t < 7) unsigneds[t] = t == 2 || t == 4 ? UINT_MAX : 0u;
    if (t < 6) wide[t] = t == 1 || t == 5 ? ULLONG_MAX : 0ull;
    if (t < 2) wide_signed[t] = t == 0 ? LLONG_MAX : LLONG_MIN;
}

extern "C" void run(const int* in, int* signeds, uint32_t* unsigneds, uint64_t* wide, int64_t* wide_signed, int64_t n,
                    cudaStream_t stream) {
    auto* wide_bits = reinterpret_cast<unsigned long long*>(wide);
    auto* wide_values = reinterpret_cast<long long*>(wide_signed);
    reset<<<1, 32, 0, stream>>>(signeds, unsigneds, wide_bits, wide_values);
    accumulate<<<2, 64, 0, stream>>>(in, signeds, unsigneds, wide_bits, wide_values, n);
}
