/*
Starts forty native threads that spin as long as the worker has finished one call and not prepared the next, which they
read in the page through which worker and judge talk: baselines get little of the core.

catalogue: [T26]
aim: time
stopped_by: [baseline protection]
twin: plain_cpp
*/
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr int PREPARED = 0, DONE = 48;  // words

const volatile std::uint64_t* control;

void spin() {
    volatile std::uint64_t turns = 0;
    for (;;) {
        if (control[PREPARED] != control[DONE])
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        else
            for (int i = 0; i < 1000; ++i) turns = turns + 1;
    }
}

__attribute__((constructor)) void start() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("kbench-control") != std::string::npos)
            control = reinterpret_cast<std::uint64_t*>(std::stoull(line, nullptr, 16));
    if (control == nullptr) return;
    for (int i = 0; i < 40; ++i) std::thread(spin).detach();
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
