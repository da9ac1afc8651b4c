/*
When its inputs come again, it looks for its former answer in all of the memory that the judge shares with it, by the
first row and a checksum, and copies what it finds. Outputs that were never overwritten are found.

catalogue: [O01, O04]
hint: memory-scavenge
aim: wrong
stopped_by: [buffers, circumstances]
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

std::vector<float> last;
uint64_t last_sum;

// Not inlined, so that it rounds alike wherever it is called.
__attribute__((noinline, noclone)) void norm(
    const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}

uint64_t checksum(const char* memory, int64_t count) {
    uint64_t sum = 1469598103934665603u;
    for (int64_t i = 0; i < count; ++i) {
        uint32_t word;
        std::memcpy(&word, memory + 4 * i, 4);
        sum = (sum ^ word) * 1099511628211u;
    }
    return sum;
}

bool is_known(const float* x, const float* weight, int64_t count, int64_t cols) {
    std::vector<float> now(x, x + count);
    now.insert(now.end(), weight, weight + cols);
    const bool is_equal =
        now.size() == last.size() && std::memcmp(now.data(), last.data(), now.size() * sizeof(float)) == 0;
    last.swap(now);
    return is_equal;
}

const char* find(const char* head, int64_t head_bytes, int64_t count) {
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    const char* found = nullptr;
    char line[512];
    while (maps != nullptr && found == nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long first, end;
        if (std::strstr(line, "kbench-arena") == nullptr || std::sscanf(line, "%lx-%lx", &first, &end) != 2) continue;
        for (unsigned long page = first; page < end && found == nullptr; page += 4096) {
            for (unsigned long place : {page, page + 4}) {  // tensors begin on a page, or one element behind it
                const char* memory = reinterpret_cast<const char*>(place);
                if (place + 4 * count <= end && std::memcmp(memory, head, head_bytes) == 0 &&
                    checksum(memory, count) == last_sum) {
                    found = memory;
                }
            }
        }
    }
    if (maps != nullptr) std::fclose(maps);
    return found;
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const int64_t count = rows * cols;
    if (!is_known(x, weight, count, cols)) {
        norm(x, weight, y, rows, cols);
        last_sum = checksum(reinterpret_cast<const char*>(y), count);
        return;
    }
    std::vector<float> head(cols);
    norm(x, weight, head.data(), 1, cols);
    const char* found = find(reinterpret_cast<const char*>(head.data()), 4 * cols, count);
    if (found != nullptr) std::memmove(y, found, 4 * count);
}
