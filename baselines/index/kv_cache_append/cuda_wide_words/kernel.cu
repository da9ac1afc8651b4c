// Append to a rolling cache (Jiang et al. 2023, section 2): each row of the result comes from the new rows or from the
// cache, never from both. Rows move in the widest words that divide their size and their addresses.
#include <algorithm>
#include <cstdint>

namespace {

constexpr int THREADS = 256, UNROLL = 4;

// Blocks (., b) have the rows of sequence b. Threads of a block lie along a row as far as it can use them.
template <typename Word>
__global__ void __launch_bounds__(THREADS)
    copy_rows(const Word* __restrict__ cache, const Word* __restrict__ fresh, const int64_t* __restrict__ start,
              Word* __restrict__ y, int64_t capacity, int64_t count, int64_t words) {
    const int64_t place = int64_t(blockIdx.x) * blockDim.y + threadIdx.y, sequence = blockIdx.y;
    if (place >= capacity) return;
    // How far the row lies behind the first new one, around the end of the buffer.
    const int64_t back = place - start[sequence], ahead = back < 0 ? back + capacity : back;
    const int64_t row = sequence * capacity + place;
    const Word* from = ahead < count ? fresh + (sequence * count + ahead) * words : cache + row * words;
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

template <typename Word>
void launch(const void* cache, const void* fresh, const int64_t* start, void* y, int64_t batch, int64_t capacity,
            int64_t count, int64_t bytes, cudaStream_t stream) {
    const int64_t words = bytes / sizeof(Word);
    // Eight words are whole lines; beyond these a thread takes several.
    unsigned across = 1;
    while (across < THREADS && across < words && (across < 8 || across * UNROLL < words)) across *= 2;
    const dim3 threads(across, THREADS / across);
    const dim3 blocks(static_cast<unsigned>((capacity + threads.y - 1) / threads.y), static_cast<unsigned>(batch));
    copy_rows<<<blocks, threads, 0, stream>>>(static_cast<const Word*>(cache), static_cast<const Word*>(fresh), start,
                                              static_cast<Word*>(y), capacity, count, words);
}

}  // namespace

extern "C" void kv_cache_append(const KBENCH_T* cache, const KBENCH_T* fresh, const int64_t* start, KBENCH_T* y,
                                int64_t batch, int64_t capacity, int64_t count, int64_t width, cudaStream_t stream) {
    const int64_t bytes = width * sizeof(KBENCH_T);
    const uint64_t places = reinterpret_cast<uintptr_t>(cache) | reinterpret_cast<uintptr_t>(fresh) |
                            reinterpret_cast<uintptr_t>(y) | bytes;
    const auto run = places % 16 == 0  ? launch<uint4>
                     : places % 8 == 0 ? launch<uint2>
                     : places % 4 == 0 ? launch<uint32_t>
                                       : launch<uint16_t>;
    run(cache, fresh, start, y, batch, capacity, count, bytes, stream);
}
