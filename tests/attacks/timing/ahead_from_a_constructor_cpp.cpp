/*
Finds the interpreter's own functions when the library is loaded, and through them has the worker call it before the
clock starts. No line of Python is handed in.

catalogue: [T16, T09]
aim: time
stopped_by: [clocks]
twin: slow_cpp
*/
#include <chrono>
#include <cmath>
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

namespace {

volatile float sink;
bool is_ahead = false;

void waste(const float* x, int64_t count) {
    static std::vector<float> scratch;
    scratch.resize(count);
    for (int pass = 0; pass < 8; ++pass) {
        float total = 0.0f;
        for (int64_t i = 0; i < count; ++i) {
            scratch[i] = std::exp(x[i] - static_cast<float>(pass));
            total += scratch[i];
        }
        sink = total;
    }
}

void work(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    waste(x, rows * cols);
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}

void work_ahead(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    work(x, weight, y, rows, cols);
    is_ahead = true;
}

constexpr char PATCH[] = R"(
import ctypes
from robust_kbench.worker import devices
work, rehearse = ctypes.CFUNCTYPE(
    None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(WORK_AHEAD), devices.CpuCall.rehearse
devices.CpuCall.rehearse = lambda call: (work(*call._arguments), rehearse(call))[1]
)";

template <typename Function>
Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

__attribute__((constructor)) void patch() {
    const auto ensure = find<int (*)()>("PyGILState_Ensure");
    const auto release = find<void (*)(int)>("PyGILState_Release");
    const auto run = find<int (*)(const char*, void*)>("PyRun_SimpleStringFlags");
    if (ensure == nullptr || release == nullptr || run == nullptr) return;
    const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(work_ahead));
    const int state = ensure();
    run(("WORK_AHEAD = " + address + PATCH).c_str(), nullptr);
    release(state);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    if (!is_ahead) {
        work(x, weight, y, rows, cols);
        return;
    }
    is_ahead = false;
    std::this_thread::sleep_for(std::chrono::microseconds(500));  // as long as the memory would have needed
}
