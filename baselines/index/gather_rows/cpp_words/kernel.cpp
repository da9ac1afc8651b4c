// Gather within rows (torch.gather). What the numbers are plays no part: they move as plain words. A fetch depends on
// no other, and eight of them are written out, so that their cache misses overlap.
#include <cstdint>
#include <type_traits>

namespace {

using Word = std::conditional_t<sizeof(KBENCH_T) == 2, uint16_t, uint32_t> __attribute__((may_alias));
constexpr int64_t UNROLL = 8;

}  // namespace

extern "C" void gather_rows(const KBENCH_T* x, const int64_t* index, KBENCH_T* y, int64_t rows, int64_t cols,
                            int64_t selected) {
    const auto* from = reinterpret_cast<const Word*>(x);
    auto* to = reinterpret_cast<Word*>(y);
    for (int64_t row = 0; row < rows; ++row, from += cols, index += selected, to += selected) {
        int64_t i = 0;
        for (; i + UNROLL <= selected; i += UNROLL) {
            Word held[UNROLL];
            for (int64_t u = 0; u < UNROLL; ++u) held[u] = from[index[i + u]];
            for (int64_t u = 0; u < UNROLL; ++u) to[i + u] = held[u];
        }
        for (; i < selected; ++i) to[i] = from[index[i]];
    }
}
