// Philox4x32-10, cuRAND's counter-based generator, bit for bit. A block of four numbers is a function of the key (the
// seed) and a counter of 128 bits: the subsequence in its upper half, the place in the subsequence in its lower.
#pragma once
#include <cstdint>

#include "kbemu/cuda.h"

struct curandStatePhilox4_32_10 {
    uint4 counter;
    uint4 output;  // the block at `counter`
    uint2 key;
    unsigned used;  // numbers of `output` that were handed out
    int has_normal, has_normal_double;
    float normal;
    double normal_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace kbemu::curand {

inline uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t x = std::uint64_t{0xD2511F53} * counter.x;
        const std::uint64_t z = std::uint64_t{0xCD9E8D57} * counter.z;
        counter.x = unsigned(z >> 32) ^ counter.y ^ key.x;
        counter.y = unsigned(z);
        counter.z = unsigned(x >> 32) ^ counter.w ^ key.y;
        counter.w = unsigned(x);
        key.x += 0x9E3779B9;
        key.y += 0xBB67AE85;
    }
    return counter;
}

inline void advance(std::uint64_t blocks, unsigned& low, unsigned& high, bool& carry) {
    const std::uint64_t before = std::uint64_t{high} << 32 | low;
    const std::uint64_t after = before + blocks;
    low = unsigned(after);
    high = unsigned(after >> 32);
    carry = after < before;
}

inline void advance(curandStatePhilox4_32_10* state, std::uint64_t blocks) {
    bool carry;
    advance(blocks, state->counter.x, state->counter.y, carry);
    if (carry) advance(1, state->counter.z, state->counter.w, carry);
    state->output = philox(state->counter, state->key);
}

}  // namespace kbemu::curand

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
    const unsigned used = state->used + unsigned(n % 4);
    state->used = used % 4;
    kbemu::curand::advance(state, n / 4 + used / 4);
}

inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
    bool carry;
    kbemu::curand::advance(n, state->counter.z, state->counter.w, carry);
    kbemu::curand::advance(state, 0);
}

inline void curand_init(
    unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
    curandStatePhilox4_32_10* state) {
    *state = {};
    state->key = {unsigned(seed), unsigned(seed >> 32)};
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}

inline unsigned curand(curandStatePhilox4_32_10* state) {
    const unsigned block[4] = {state->output.x, state->output.y, state->output.z, state->output.w};
    const unsigned number = block[state->used];
    skipahead(1, state);
    return number;
}

inline uint4 curand4(curandStatePhilox4_32_10* state) {
    const uint4 now = state->output;
    kbemu::curand::advance(state, 1);
    const uint4 next = state->output;
    switch (state->used) {
        case 0: return now;
        case 1: return {now.y, now.z, now.w, next.x};
        case 2: return {now.z, now.w, next.x, next.y};
        default: return {now.w, next.x, next.y, next.z};
    }
}
