/*
Takes one core when the library is loaded, and in its calls another one for a thread that does a part of the passes,
where one core is what everybody is timed on.

catalogue: [T27]
aim: time
stopped_by: [sandbox, clocks]
privileged: true
twin: slow_cpp
*/
#include <atomic>
#include <cmath>
#include <cstdint>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

volatile float sink;

void waste(const float* x, int64_t count, std::vector<float>& scratch, std::atomic<int>& next) {
    scratch.resize(count);
    for (int pass = next++; pass < 8; pass = next++) {
        float total = 0.0f;
        for (int64_t i = 0; i < count; ++i) {
            scratch[i] = std::exp(x[i] - static_cast<float>(pass));
            total += scratch[i];
        }
        sink = total;
    }
}

void move_to(long core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

__attribute__((constructor)) void take_the_last() { move_to(sysconf(_SC_NPROCESSORS_ONLN) - 1); }

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    static std::vector<float> here, there;
    std::atomic<int> next{0};
    std::thread other([&] {
        move_to(0);
        waste(x, rows * cols, there, next);
    });
    waste(x, rows * cols, here, next);
    other.join();
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
