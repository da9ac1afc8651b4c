// Jumps ahead in the random generators that are linear maps: powers of their matrices by repeated squaring.
#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "kbemu/curand/mrg32k3a.h"
#include "kbemu/curand/xorwow.h"

namespace kbemu::curand {
namespace {

// --- XORWOW: matrices of 160 x 160 bits -----------------------------------------------------------------------------
using Bits = std::array<unsigned, 5>;
using BitMatrix = std::array<Bits, 160>;  // the image of each bit

Bits image(const BitMatrix& matrix, const Bits& bits) {
    Bits sum{};
    for (unsigned i = 0; i < matrix.size(); ++i) {
        if (!(bits[i / 32] >> i % 32 & 1)) continue;
        for (unsigned word = 0; word < sum.size(); ++word) sum[word] ^= matrix[i][word];
    }
    return sum;
}

BitMatrix one_step() {
    BitMatrix matrix;
    for (unsigned i = 0; i < matrix.size(); ++i) {
        curandStateXORWOW state{};
        state.v[i / 32] = 1u << i % 32;
        ::curand(&state);
        matrix[i] = std::to_array(state.v);
    }
    return matrix;
}

BitMatrix squared(const BitMatrix& matrix) {
    BitMatrix result;
    for (unsigned i = 0; i < matrix.size(); ++i) result[i] = image(matrix, matrix[i]);
    return result;
}

// The map of 2**exponent steps.
const BitMatrix& xorwow_power(unsigned exponent) {
    static std::mutex mutex;
    static std::vector<BitMatrix> powers = [] {
        std::vector<BitMatrix> start;
        start.reserve(64 + kXorwowSequenceExponent);  // references stay valid
        start.push_back(one_step());
        return start;
    }();
    std::lock_guard<std::mutex> lock(mutex);
    while (powers.size() <= exponent) powers.push_back(squared(powers.back()));
    return powers[exponent];
}

// --- MRG32k3a: matrices of 3 x 3 numbers ----------------------------------------------------------------------------
using Numbers = std::array<std::array<std::uint64_t, 3>, 3>;

Numbers product(const Numbers& a, const Numbers& b, std::uint64_t modulus) {
    Numbers result{};
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) {
            for (int k = 0; k < 3; ++k) {
                result[row][column] = (result[row][column] + a[row][k] * b[k][column]) % modulus;
            }
        }
    }
    return result;
}

void jump(unsigned (&state)[3], Numbers step, std::uint64_t modulus, unsigned long long n, unsigned exponent) {
    for (unsigned i = 0; i < exponent; ++i) step = product(step, step, modulus);
    for (; n; n >>= 1, step = product(step, step, modulus)) {
        if (!(n & 1)) continue;
        unsigned next[3];
        for (int row = 0; row < 3; ++row) {
            std::uint64_t sum = 0;
            for (int k = 0; k < 3; ++k) sum = (sum + step[row][k] * state[k]) % modulus;
            next[row] = static_cast<unsigned>(sum);
        }
        for (int row = 0; row < 3; ++row) state[row] = next[row];
    }
}

}  // namespace

void xorwow_jump(unsigned (&v)[5], unsigned long long n, unsigned exponent) {
    Bits bits = std::to_array(v);
    for (; n; n >>= 1, ++exponent) {
        if (n & 1) bits = image(xorwow_power(exponent), bits);
    }
    for (unsigned word = 0; word < bits.size(); ++word) v[word] = bits[word];
}

void mrg_jump(curandStateMRG32k3a* state, unsigned long long n, unsigned exponent) {
    jump(state->s1, {{{0, 1, 0}, {0, 0, 1}, {kModulus1 - 810728, 1403580, 0}}}, kModulus1, n, exponent);
    jump(state->s2, {{{0, 1, 0}, {0, 0, 1}, {kModulus2 - 1370589, 0, 527612}}}, kModulus2, n, exponent);
}

}  // namespace kbemu::curand
