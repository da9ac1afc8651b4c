// Size and alignment of every built-in vector type, as the device sees them.
#include <cstdint>

template <typename... Ts>
__device__ void write_sizes(int* out) {
    const int sizes[] = {static_cast<int>(sizeof(Ts))...};
    const int alignments[] = {static_cast<int>(alignof(Ts))...};
    for (int i = 0; i < static_cast<int>(sizeof...(Ts)); ++i) {
        out[2 * i] = sizes[i];
        out[2 * i + 1] = alignments[i];
    }
}

__global__ void sizes(int* out) {
    write_sizes<char1, uchar2, char3, uchar4,         //
                short1, ushort2, short3, ushort4,     //
                int1, uint2, int3, uint4,             //
                longlong1, ulonglong2, longlong3,     //
                float1, float2, float3, float4,       //
                double1, double2, double3, dim3>(out);
}

extern "C" void run(int* out, cudaStream_t stream) { sizes<<<1, 1, 0, stream>>>(out); }
