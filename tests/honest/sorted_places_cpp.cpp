/*
Sorts places in the output itself, which so holds what is not the answer until the end of a row.

looks_like: [O13]
task: index/sort
*/
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

extern "C" void sort(const float* x, float* values, int64_t* indices, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, values += cols, indices += cols) {
        std::iota(indices, indices + cols, int64_t{0});
        std::sort(indices, indices + cols, [x](int64_t one, int64_t other) {
            return !std::isnan(x[one]) && (std::isnan(x[other]) || x[one] < x[other]);
        });
        for (int64_t rank = 0; rank < cols; ++rank) values[rank] = x[indices[rank]];
    }
}
