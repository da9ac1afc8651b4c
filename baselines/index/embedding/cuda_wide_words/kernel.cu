// Embedding (Bengio et al. 2003, section 2): a row of the table is copied for each token. What the numbers are plays no
// part, so rows move in the widest words that divide their size and their addresses.
#include <algorithm>
#include <cstdint>

namespace {

constexpr int THREADS = 256, UNROLL = 4;

// Threads of a block lie along a row as far as it can use them; the others have other rows.
template <typename Word>
__global__ void __launch_bounds__(THREADS) copy_rows(const int64_t* __restrict__ token, const Word* __restrict__ weight,
                                                     Word* __restrict__ y, int64_t tokens, int64_t words) {
    for (int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; row < tokens;
         row += int64_t(gridDim.x) * blockDim.y) {
        const Word* from = weight + token[row] * words;
        Word* to = y + row * words;
        int64_t word = threadIdx.x;
        // Several loads are under way before the first store waits for one.
        for (; word + (UNROLL - 1) * blockDim.x < words; word += UNROLL * blockDim.x) {
            Word held[UNROLL];
#pragma unroll
            for (int i = 0; i < UNROLL; ++i) held[i] = from[word + i * blockDim.x];
#pragma unroll
            for (int i = 0; i < UNROLL; ++i) to[word + i * blockDim.x] = held[i];
        }
        for (; word < words; word += blockDim.x) to[word] = from[word];
    }
}

template <typename Word>
void launch(const int64_t* token, const void* weight, void* y, int64_t tokens, int64_t bytes, cudaStream_t stream) {
    const int64_t words = bytes / sizeof(Word);
    // Eight words are whole lines; beyond these a thread takes several.
    unsigned across = 1;
    while (across < THREADS && across < words && (across < 8 || across * UNROLL < words)) across *= 2;
    const dim3 threads(across, THREADS / across);
    const auto blocks = static_cast<unsigned>(std::min<int64_t>((tokens + threads.y - 1) / threads.y, INT32_MAX));
    copy_rows<<<blocks, threads, 0, stream>>>(token, static_cast<const Word*>(weight), static_cast<Word*>(y), tokens,
                                              words);
}

}  // namespace

extern "C" void embedding(const int64_t* token, const KBENCH_T* weight, KBENCH_T* y, int64_t tokens, int64_t,
                          int64_t width, cudaStream_t stream) {
    if (tokens == 0) return;  // a grid must not be empty
    const int64_t bytes = width * sizeof(KBENCH_T);
    const uint64_t places = reinterpret_cast<uintptr_t>(weight) | reinterpret_cast<uintptr_t>(y) | bytes;
    const auto run = places % 16 == 0  ? launch<uint4>
                     : places % 8 == 0 ? launch<uint2>
                     : places % 4 == 0 ? launch<uint32_t>
                                       : launch<uint16_t>;
    run(token, weight, y, tokens, bytes, stream);
}
