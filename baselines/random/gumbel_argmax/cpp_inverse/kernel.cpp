// One class for each row by inversion: a uniform number, looked up in the running sum of the row's exponentials.
#include <cmath>

namespace {

uint64_t mixed(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

}  // namespace

extern "C" void draw_class(const KBENCH_T* logits, int64_t seed, int64_t* index, int64_t rows, int64_t classes) {
    const uint64_t key = mixed(static_cast<uint64_t>(seed) + 0x9e3779b97f4a7c15u);
    for (int64_t row = 0; row < rows; ++row, logits += classes) {
        float top = logits[0];
        for (int64_t i = 1; i < classes; ++i) {
            const float value = logits[i];
            top = value > top ? value : top;
        }
        double total = 0.0;
        for (int64_t i = 0; i < classes; ++i) total += std::exp(static_cast<float>(logits[i]) - top);
        const uint64_t bits = mixed(key + static_cast<uint64_t>(row) * 0x9e3779b97f4a7c15u) >> 11;
        const double target = (static_cast<double>(bits) + 0.5) * 0x1p-53 * total;
        int64_t chosen = 0;
        double running = 0.0;
        for (int64_t i = 0; i < classes && running < target; ++i) {
            const float term = std::exp(static_cast<float>(logits[i]) - top);
            running += term;
            if (term > 0.0f) chosen = i;
        }
        index[row] = chosen;
    }
}
