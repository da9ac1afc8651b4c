/*
Gives all of the work to a native thread, detaches it and returns a little later: no thread that Python knows of
appears, and none can be joined.

catalogue: [T03]
hint: thread-injection
aim: wrong
stopped_by: [clocks]
twin: joined_threads_cpp
*/
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>

namespace {

void norm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double parts[8] = {};
        int64_t i = 0;
        for (; i + 8 <= cols; i += 8)
            for (int64_t lane = 0; lane < 8; ++lane) parts[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
        for (; i < cols; ++i) parts[0] += static_cast<double>(x[i]) * x[i];
        double sum = 0.0;
        for (double part : parts) sum += part;
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::microseconds(700));
        norm(x, weight, y, rows, cols);
    }).detach();
    std::this_thread::sleep_for(std::chrono::microseconds(500));  // as long as the memory would have needed
}
