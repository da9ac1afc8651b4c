/*
Exchanges Python's clock through the interpreter's own functions when the library is loaded; the new one stands still
for nine tenths of the time that its calls take.

catalogue: [T09, T07]
hint: monkey-patch-timing
aim: time
stopped_by: [process boundary]
naive: true
twin: slow_cpp
*/
#include <chrono>
#include <cmath>
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

double hidden_s = 0.0;

volatile float sink;

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

template <typename Function>
Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

void run_python(const std::string& text) {
    const auto ensure = find<int (*)()>("PyGILState_Ensure");
    const auto release = find<void (*)(int)>("PyGILState_Release");
    const auto run = find<int (*)(const char*, void*)>("PyRun_SimpleStringFlags");
    if (ensure == nullptr || release == nullptr || run == nullptr) return;
    const int state = ensure();
    run(text.c_str(), nullptr);
    release(state);
}

constexpr char PATCH[] = R"(
import ctypes, time
HIDDEN = ctypes.c_double.from_address(HIDDEN_AT)
time.perf_counter = lambda clock=time.perf_counter: clock() - HIDDEN.value
)";

__attribute__((constructor)) void patch() {
    run_python("HIDDEN_AT = " + std::to_string(reinterpret_cast<std::uintptr_t>(&hidden_s)) + PATCH);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const auto started = std::chrono::steady_clock::now();
    work(x, weight, y, rows, cols);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
    hidden_s += 0.9 * elapsed.count();
}
