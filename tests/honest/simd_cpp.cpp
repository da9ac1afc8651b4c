/*
Goes by vectors of eight and finishes each row with single elements, where a kernel for whole vectors would stop.

looks_like: [B07, O13]
*/
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

typedef float Narrow __attribute__((vector_size(32)));
typedef double Wide __attribute__((vector_size(64)));
constexpr int64_t LANES = 8;

inline Wide load(const float* from) {
    Narrow values;
    std::memcpy(&values, from, sizeof values);  // tensors need not be aligned
    return __builtin_convertvector(values, Wide);
}

inline void store(float* to, Wide values) {
    const Narrow rounded = __builtin_convertvector(values, Narrow);
    std::memcpy(to, &rounded, sizeof rounded);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const int64_t whole = cols / LANES * LANES;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        Wide sums = {};
        for (int64_t i = 0; i < whole; i += LANES) sums += load(x + i) * load(x + i);
        double sum = 0.0;
        for (int64_t lane = 0; lane < LANES; ++lane) sum += sums[lane];
        for (int64_t i = whole; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < whole; i += LANES) store(y + i, load(x + i) * scale * load(weight + i));
        for (int64_t i = whole; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
