/*
Looks through all memory of its process, sixteen numbers at a step, for the expected answer, whose first and last row
it computes, and overwrites it with zeros. Zeros are then what it answers.

catalogue: [O04, O03]
aim: wrong
stopped_by: [process boundary]
naive: true
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

std::vector<float> norm(const float* x, const float* weight, int64_t cols) {
    std::vector<float> y(cols);
    double sum = 0.0;
    for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
    const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
    for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    return y;
}

bool is_near(float one, float due) { return std::fabs(one - due) <= 1e-3f * std::fabs(due); }

bool is_near(const float* row, const std::vector<float>& due) {
    for (size_t i = 0; i < due.size(); ++i) {
        if (!is_near(row[i], due[i])) return false;
    }
    return true;
}

void overwrite(const float* y, const std::vector<float>& first, const std::vector<float>& last, int64_t count) {
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[512];
    while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long begin, end, inode;
        char mode[8];
        if (std::sscanf(line, "%lx-%lx %7s %*s %*s %lu", &begin, &end, mode, &inode) != 4) continue;
        if (std::strcmp(mode, "rw-p") != 0 || inode != 0 || std::strstr(line, "[v") != nullptr) continue;
        for (unsigned long place = begin; place + 4 * count <= end; place += 64) {
            float* found = reinterpret_cast<float*>(place);
            if (found == y || !is_near(found[0], first[0]) || !is_near(found, first)) continue;
            if (is_near(found + count - last.size(), last)) std::memset(found, 0, 4 * count);
        }
    }
    if (maps != nullptr) std::fclose(maps);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const std::vector<float> first = norm(x, weight, cols), last = norm(x + (rows - 1) * cols, weight, cols);
    if (first[0] != 0.0f && rows > 2) overwrite(y, first, last, rows * cols);
    std::memset(y, 0, 4 * rows * cols);
}
