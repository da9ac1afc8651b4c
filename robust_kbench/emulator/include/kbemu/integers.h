// CUDA's integer intrinsics.
#pragma once
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "kbemu/dpx.h"
#include "kbemu/packed_integers.h"

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned __brev(unsigned x) {
    x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
    x = (x & 0x0F0F0F0Fu) << 4 | (x >> 4 & 0x0F0F0F0Fu);
    return __builtin_bswap32(x);
}

inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 | __brev(x >> 32);
}

inline unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
inline unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
inline unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }

// Each nibble of the selector names one of the eight bytes of y:x by its three low bits.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned choice = selector >> (4 * i) & 7;
        result |= static_cast<unsigned>(bytes >> (8 * choice) & 0xFF) << (8 * i);
    }
    return result;
}

inline int __mulhi(int x, int y) { return static_cast<std::int64_t>(x) * y >> 32; }
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<std::uint64_t>(x) * y >> 32; }
inline long long __mul64hi(long long x, long long y) { return static_cast<__int128>(x) * y >> 64; }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned __int128>(x) * y >> 64;
}

// Only the low 24 bits of the factors count.
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xFFFFFFu) * (y & 0xFFFFFFu); }
inline int __mul24(int x, int y) {
    const unsigned low_x = static_cast<int>(static_cast<unsigned>(x) << 8) >> 8;  // the sign is that of bit 23
    const unsigned low_y = static_cast<int>(static_cast<unsigned>(y) << 8) >> 8;
    return low_x * low_y;
}

// |x - y| + z, without the overflow that x - y could have.
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }
inline unsigned __sad(int x, int y, unsigned z) {
    const unsigned distance = static_cast<unsigned>(x) - static_cast<unsigned>(y);
    return (x > y ? distance : 0u - distance) + z;
}

// Averages, rounded down and up.
inline int __hadd(int x, int y) { return (static_cast<std::int64_t>(x) + y) >> 1; }
inline int __rhadd(int x, int y) { return (static_cast<std::int64_t>(x) + y + 1) >> 1; }
inline unsigned __uhadd(unsigned x, unsigned y) { return (static_cast<std::uint64_t>(x) + y) >> 1; }
inline unsigned __urhadd(unsigned x, unsigned y) { return (static_cast<std::uint64_t>(x) + y + 1) >> 1; }

// Of the 64 bits high:low: the upper word after a shift to the left, the lower one after a shift to the right. The
// shift wraps at 32, or with the suffix c stops there.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (static_cast<std::uint64_t>(high) << 32 | low) << (shift & 31) >> 32;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (static_cast<std::uint64_t>(high) << 32 | low) >> (shift & 31);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// The position of the n-th set bit at or after `base` (n > 0), or at or before it (n < 0); ~0 when there is none.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
    if (n == 0) return mask >> (base & 31) & 1 ? base : ~0u;
    const int step = n > 0 ? 1 : -1;
    int remaining = std::abs(n);
    for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
        if ((mask >> position & 1) && --remaining == 0) return position;
    }
    return ~0u;
}
