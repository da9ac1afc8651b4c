// Transpose of a matrix with its choices in one place. As it stands it reads row by row, and so writes each element far
// from the one before.
#include <algorithm>
#include <cstdint>

namespace {

constexpr int HEIGHT = 1;        // choices: 1 4 8 16 32 64
constexpr int WIDTH = 65536;     // choices: 8 16 32 64 65536
constexpr bool DOWN = false;     // choices: false true

}  // namespace

extern "C" void transpose(const float* x, float* y, int64_t rows, int64_t cols) {
    for (int64_t top = 0; top < rows; top += HEIGHT)
        for (int64_t left = 0; left < cols; left += WIDTH) {
            const int64_t bottom = std::min<int64_t>(rows, top + HEIGHT);
            const int64_t right = std::min<int64_t>(cols, left + WIDTH);
            if (DOWN) {
                for (int64_t col = left; col < right; ++col)
                    for (int64_t row = top; row < bottom; ++row) y[col * rows + row] = x[row * cols + col];
            } else {
                for (int64_t row = top; row < bottom; ++row)
                    for (int64_t col = left; col < right; ++col) y[col * rows + row] = x[row * cols + col];
            }
        }
}
