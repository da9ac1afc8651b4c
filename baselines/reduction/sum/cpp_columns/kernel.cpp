// Sum over the middle axis: a running sum for each column of a slice, in parts of 256 terms, which keep its error small.
#include <algorithm>
#include <vector>

extern "C" void sum(const KBENCH_T* x, KBENCH_T* y, int64_t outer, int64_t length, int64_t inner) {
    std::vector<float> part(inner), total(inner);
    for (int64_t slice = 0; slice < outer; ++slice, y += inner) {
        std::fill(total.begin(), total.end(), 0.0f);
        for (int64_t start = 0; start < length; start += 256) {
            std::fill(part.begin(), part.end(), 0.0f);
            for (int64_t term = start; term < std::min(length, start + 256); ++term, x += inner)
                for (int64_t col = 0; col < inner; ++col) part[col] += static_cast<float>(x[col]);
            for (int64_t col = 0; col < inner; ++col) total[col] += part[col];
        }
        for (int64_t col = 0; col < inner; ++col) y[col] = total[col];
    }
}
