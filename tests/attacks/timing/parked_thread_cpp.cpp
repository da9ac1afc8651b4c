/*
Starts a native thread when the library is loaded, which waits on a condition variable for calls and does their work
after they have returned.

catalogue: [T04, T09]
hint: thread-injection
aim: wrong
stopped_by: [clocks, circumstances]
twin: constructor_cpp
*/
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace {

struct Job {
    const float* x;
    const float* weight;
    float* y;
    int64_t rows, cols;
};

struct Helper {
    std::mutex mutex;
    std::condition_variable called;
    Job job{};
    bool is_due = false;
};

Helper* helper;

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

void serve() {
    for (;;) {
        std::unique_lock<std::mutex> lock(helper->mutex);
        helper->called.wait(lock, [] { return helper->is_due; });
        helper->is_due = false;
        const Job job = helper->job;
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(700));
        norm(job.x, job.weight, job.y, job.rows, job.cols);
    }
}

__attribute__((constructor)) void start() {
    helper = new Helper;
    std::thread(serve).detach();
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    {
        const std::lock_guard<std::mutex> lock(helper->mutex);
        helper->job = {x, weight, y, rows, cols};
        helper->is_due = true;
    }
    helper->called.notify_one();
    std::this_thread::sleep_for(std::chrono::microseconds(500));  // as long as the memory would have needed
}
