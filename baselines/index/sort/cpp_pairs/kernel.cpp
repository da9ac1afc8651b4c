// Sort of each row as pairs of value and place; NaN is larger than every number.
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Entry {
    float value;
    int64_t place;
};

bool comes_before(const Entry& left, const Entry& right) {
    if (std::isnan(left.value)) return false;
    return std::isnan(right.value) || left.value < right.value;
}

}  // namespace

extern "C" void sort_rows(const KBENCH_T* x, KBENCH_T* values, int64_t* indices, int64_t rows, int64_t cols) {
    std::vector<Entry> entries(cols);
    for (int64_t row = 0; row < rows; ++row, x += cols, values += cols, indices += cols) {
        for (int64_t col = 0; col < cols; ++col) entries[col] = {static_cast<float>(x[col]), col};
        std::sort(entries.begin(), entries.end(), comes_before);
        for (int64_t col = 0; col < cols; ++col) {
            values[col] = x[entries[col].place];
            indices[col] = entries[col].place;
        }
    }
}
