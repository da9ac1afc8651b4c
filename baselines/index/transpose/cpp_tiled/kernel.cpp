// Matrix transpose in tiles of 32 by 32, so that both sides of a tile stay in the first-level cache.
#include <algorithm>

extern "C" void transpose(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols) {
    constexpr int64_t tile = 32;
    for (int64_t top = 0; top < rows; top += tile)
        for (int64_t left = 0; left < cols; left += tile)
            for (int64_t col = left; col < std::min(cols, left + tile); ++col)
                for (int64_t row = top; row < std::min(rows, top + tile); ++row)
                    y[col * rows + row] = x[row * cols + col];
}
