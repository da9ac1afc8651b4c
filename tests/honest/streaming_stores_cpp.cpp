/*
Writes the answer past the caches, so that it is still on its way to memory until the fence at the end of the call.

looks_like: [O15, W05]
*/
#include <cmath>
#include <cstdint>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace {

void write_row(const float* x, const float* weight, double scale, float* y, int64_t cols) {
    const auto value = [=](int64_t at) { return static_cast<float>(x[at] * scale * weight[at]); };
    int64_t i = 0;
#ifdef __SSE2__
    for (; i < cols && reinterpret_cast<std::uintptr_t>(y + i) % 16 != 0; ++i) y[i] = value(i);
    for (; i + 4 <= cols; i += 4) _mm_stream_ps(y + i, _mm_setr_ps(value(i), value(i + 1), value(i + 2), value(i + 3)));
#endif
    for (; i < cols; ++i) y[i] = value(i);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        write_row(x, weight, 1.0 / std::sqrt(sum / cols + 1e-6), y, cols);
    }
#ifdef __SSE2__
    _mm_sfence();
#endif
}
