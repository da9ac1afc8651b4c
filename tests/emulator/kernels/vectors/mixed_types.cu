// One record of every width: 2, 4, 8 and 16 byte vectors, and 12 byte ones that only align to 4.
#include <cstdint>

__global__ void mix(const short2* pairs, const int3* triples, const longlong2* longs, const double2* doubles,
                    double* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        short2 pair = pairs[i];
        int3 triple = triples[i];
        longlong2 wide = longs[i];
        double2 real = doubles[i];
        ushort4 packed = make_ushort4(pair.x & 255, pair.y & 255, triple.x & 255, triple.y & 255);
        char4 narrow = make_char4(packed.x & 63, packed.y & 63, packed.z & 63, packed.w & 63);
        ulonglong2 sum = make_ulonglong2(wide.x + triple.z, wide.y + pair.x);
        uint2 halves = make_uint2(sum.x & 0xffffffffu, sum.y & 0xffffffffu);
        out[i] = real.x + 2.0 * real.y + narrow.x + narrow.y + narrow.z + narrow.w + halves.x + halves.y;
    }
}

extern "C" void run(const int16_t* pairs, const int32_t* triples, const int64_t* longs, const double* doubles,
                    double* out, int64_t n, cudaStream_t stream) {
    mix<<<1, 50, 0, stream>>>(reinterpret_cast<const short2*>(pairs), reinterpret_cast<const int3*>(triples),
                              reinterpret_cast<const longlong2*>(longs), reinterpret_cast<const double2*>(doubles), out,
                              static_cast<int>(n));
}
