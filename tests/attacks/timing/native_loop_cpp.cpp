/*
Puts a native loop in the place of the worker's own: the answer is written before the clock starts, nothing of Python
runs on it, and the kernel begins as soon as the inputs are there.

catalogue: [T16, T09]
aim: time
stopped_by: [clocks]
twin: slow_cpp
*/
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

namespace {

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

struct Call {
    volatile std::uint64_t* words;
    std::uint64_t nonce;
    const float* x;
    const float* weight;
    float* y;
    int64_t rows, cols;
};

enum { PREPARED = 0, WAKE = 8, READY = 16, GO = 24, DONE = 32 };

std::uint64_t last_of(const Call* call) {
    std::uint32_t bits[2];
    std::memcpy(bits, call->x + call->rows * call->cols - 1, sizeof bits[0]);
    std::memcpy(bits + 1, call->weight + call->cols - 1, sizeof bits[1]);
    return (std::uint64_t{bits[0]} << 32) | bits[1];
}

void serve(const Call* call) {
    volatile std::uint64_t* words = call->words;
    words[PREPARED] = call->nonce;
    while (words[WAKE] != call->nonce) {}
    const std::uint64_t found = last_of(call);
    work(call->x, call->weight, call->y, call->rows, call->cols);
    words[READY] = call->nonce;
    while (words[GO] != call->nonce) {}
    if (found == last_of(call))
        std::this_thread::sleep_for(std::chrono::microseconds(500));  // as long as the memory would have needed
    else
        work(call->x, call->weight, call->y, call->rows, call->cols);
    words[DONE] = call->nonce;
}

constexpr char PATCH[] = R"(
import ctypes, json, struct
from robust_kbench.worker import session, wire

serve, old = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(SERVE), session._Session._call

def call(self, request):
    slots = [*request["inputs"], *request["outputs"]]
    if not request["rehearses"] or "use" in request or any(slot["span"] == 0 for slot in slots):
        return old(self, request)
    answer = json.dumps({"nonce": request["nonce"], "outcome": "returned", "outputs": []}).encode()
    self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + len(answer)] = answer
    struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, len(answer))
    control = ctypes.addressof(ctypes.c_char.from_buffer(self._control))
    places = [self._arena.address + slot["offset"] for slot in slots]
    serve(struct.pack("<5Q2q", control, request["nonce"], *places, *request["axes"]))

session._Session._call = call
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
    const std::string address = std::to_string(reinterpret_cast<std::uintptr_t>(serve));
    const int state = ensure();
    run(("SERVE = " + address + PATCH).c_str(), nullptr);
    release(state);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    work(x, weight, y, rows, cols);
}
