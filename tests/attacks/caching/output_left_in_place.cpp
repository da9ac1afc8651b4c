/*
Leaves the output alone when it still holds the last answer, and the sum of the inputs is the last one's, too.

It needs an output that nobody clears, at the same address as before. The sum is read in full, so that the time stays
possible.

catalogue: [C06, O01]
hint: result-caching
aim: time
stopped_by: [fresh values, buffers]
twin: slow_cpp
*/
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr int64_t LARGE = 1 << 18;  // elements: more than a checked call has, fewer than a timed one
volatile float sink;                // what is written here cannot be left out

void slow(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    static std::vector<float> scratch;
    scratch.resize(rows * cols);
    for (int pass = 0; pass < 8; ++pass) {
        float total = 0.0f;
        for (int64_t i = 0; i < rows * cols; ++i) {
            scratch[i] = std::exp(x[i] - static_cast<float>(pass));
            total += scratch[i];
        }
        sink = total;
    }
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}

constexpr int PROBES = 64;
const float* last_y = nullptr;
float last_sum = 0.0f;
float last_probes[PROBES];

float* probe(float* y, int64_t count, int number) { return y + number * (count - 1) / (PROBES - 1); }

bool is_left(float* y, int64_t count) {
    for (int i = 0; i < PROBES; ++i)
        if (*probe(y, count, i) != last_probes[i]) return false;
    return true;
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const int64_t count = rows * cols;
    if (count <= LARGE) return slow(x, weight, y, rows, cols);
    float sum = 0.0f;
    for (int64_t i = 0; i < count; ++i) sum += x[i];
    if (y == last_y && sum == last_sum && is_left(y, count)) return;
    slow(x, weight, y, rows, cols);
    last_y = y;
    last_sum = sum;
    for (int i = 0; i < PROBES; ++i) last_probes[i] = *probe(y, count, i);
}
