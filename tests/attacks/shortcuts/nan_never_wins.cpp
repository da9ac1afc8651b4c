/*
Drops the test for NaN, which costs as much as the comparison and never matters for ordinary numbers.

catalogue: [B08]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain_cpp
task: reduction/argmax
*/
#include <cstdint>
#include <limits>

extern "C" void argmax(const float* x, int64_t* index, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols) {
        float best = -std::numeric_limits<float>::infinity();
        int64_t place = 0;
        for (int64_t i = 0; i < cols; ++i)
            if (x[i] > best) {
                best = x[i];
                place = i;
            }
        index[row] = place;
    }
}
