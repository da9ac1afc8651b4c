// Permutation of tokens by expert (Gale et al. 2022, section 5.2) by a stable counting sort: choices are counted,
// counts become offsets, and then each token's row is copied to the next places of its experts, while it is in cache.
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" void permute(const KBENCH_T* x, const int64_t* expert, int64_t, KBENCH_T* y, int64_t* place,
                        int64_t* offsets, int64_t tokens, int64_t chosen, int64_t experts, int64_t width) {
    const int64_t choices = tokens * chosen;
    // Two sets of counts: of neighbours that choose the same expert, the second need not wait for the first.
    std::vector<int64_t> next(experts), others(experts);
    int64_t i = 0;
    for (; i + 2 <= choices; i += 2) {
        ++next[expert[i]];
        ++others[expert[i + 1]];
    }
    if (i < choices) ++next[expert[i]];
    offsets[0] = 0;
    for (int64_t e = 0; e < experts; ++e) {
        offsets[e + 1] = offsets[e] + next[e] + others[e];
        next[e] = offsets[e];
    }
    for (int64_t token = 0; token < tokens; ++token, x += width, expert += chosen, place += chosen)
        for (int64_t choice = 0; choice < chosen; ++choice) {
            place[choice] = next[expert[choice]]++;
            std::memcpy(y + place[choice] * width, x, width * sizeof(KBENCH_T));
        }
}
