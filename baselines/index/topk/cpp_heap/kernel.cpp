// Top-k of each row with a heap of the k largest so far, whose smallest is at its root; NaN is larger than every number.
#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Entry {
    float value;
    int64_t place;
};

bool is_larger(const Entry& left, const Entry& right) {
    if (std::isnan(right.value)) return false;
    return std::isnan(left.value) || left.value > right.value;
}

}  // namespace

extern "C" void topk(
    const KBENCH_T* x, int64_t k, KBENCH_T* values, int64_t* indices, int64_t rows, int64_t cols, int64_t count) {
    (void)count;
    std::vector<Entry> heap;
    for (int64_t row = 0; row < rows; ++row, x += cols, values += k, indices += k) {
        heap.clear();
        for (int64_t col = 0; col < cols; ++col) {
            const Entry entry{static_cast<float>(x[col]), col};
            if (static_cast<int64_t>(heap.size()) < k) {
                heap.push_back(entry);
                std::push_heap(heap.begin(), heap.end(), is_larger);
            } else if (is_larger(entry, heap.front())) {
                std::pop_heap(heap.begin(), heap.end(), is_larger);
                heap.back() = entry;
                std::push_heap(heap.begin(), heap.end(), is_larger);
            }
        }
        std::sort_heap(heap.begin(), heap.end(), is_larger);
        for (int64_t rank = 0; rank < k; ++rank) {
            values[rank] = x[heap[rank].place];
            indices[rank] = heap[rank].place;
        }
    }
}
