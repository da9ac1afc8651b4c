/*
Adds up in thirty-two float32 sums and is done as soon as memory has delivered: a fraction of the baselines' time.

looks_like: [P04, T18]
*/
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

typedef float Lanes __attribute__((vector_size(64)));
constexpr int64_t LANES = 16;

inline Lanes load(const float* from) {
    Lanes values;
    std::memcpy(&values, from, sizeof values);
    return values;
}

inline void store(float* to, Lanes values) { std::memcpy(to, &values, sizeof values); }

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const int64_t whole = cols / LANES * LANES;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        Lanes some = {}, others = {};  // a single sum would wait for itself
        int64_t i = 0;
        for (; i + 2 * LANES <= whole; i += 2 * LANES) {
            some += load(x + i) * load(x + i);
            others += load(x + i + LANES) * load(x + i + LANES);
        }
        for (; i < whole; i += LANES) some += load(x + i) * load(x + i);
        double sum = 0.0;
        for (int64_t lane = 0; lane < LANES; ++lane) sum += static_cast<double>(some[lane]) + others[lane];
        for (; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const float scale = static_cast<float>(1.0 / std::sqrt(sum / cols + 1e-6));
        for (i = 0; i < whole; i += LANES) store(y + i, load(x + i) * scale * load(weight + i));
        for (; i < cols; ++i) y[i] = x[i] * scale * weight[i];
    }
}
