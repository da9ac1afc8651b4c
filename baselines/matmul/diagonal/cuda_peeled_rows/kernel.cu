// Product of a diagonal matrix and a dense one (Golub and Van Loan 2013, section 1.2.6): nothing but traffic. Every row
// goes in 16-byte vectors, wherever it begins; what lies before the first and behind the last whole vector is peeled
// off and moved one by one.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, HELD = 4;  // HELD: vectors of a thread

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Threads of a block: x along a row, y over rows. Blocks: x over rows, y along a row.
template <int V>
__global__ void __launch_bounds__(THREADS)
    scale_rows(const T* __restrict__ d, const T* __restrict__ b, T* __restrict__ c, int64_t rows, int64_t cols) {
    const int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float factor = float(d[row]);
    b += row * cols;
    c += row * cols;
    // Both rows begin equally far from a multiple of 16 bytes.
    const int64_t misplaced = reinterpret_cast<uintptr_t>(b) / sizeof(T) % V;
    const int64_t head = min(cols, (V - misplaced) % V), vectors = (cols - head) / V, tail = head + vectors * V;

    const auto* from = reinterpret_cast<const Pack<V>*>(b + head);
    auto* to = reinterpret_cast<Pack<V>*>(c + head);
    const int64_t first = int64_t(blockIdx.y) * HELD * blockDim.x + threadIdx.x;
    Pack<V> held[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (first + i * blockDim.x < vectors) held[i] = from[first + i * blockDim.x];
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        if (first + i * blockDim.x >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) held[i].at[e] = T(factor * float(held[i].at[e]));
        to[first + i * blockDim.x] = held[i];
    }
    if (blockIdx.y > 0) return;
    for (int64_t col = threadIdx.x; col < head; col += blockDim.x) c[col] = T(factor * float(b[col]));
    for (int64_t col = tail + threadIdx.x; col < cols; col += blockDim.x) c[col] = T(factor * float(b[col]));
}

template <int V>
void launch(const T* d, const T* b, T* c, int64_t rows, int64_t cols, cudaStream_t stream) {
    // As many threads along a row as it can use; the rest of the block works on other rows.
    unsigned across = 1;
    while (across < THREADS && int64_t(across) * HELD * V < cols) across *= 2;
    const dim3 threads(across, THREADS / across);
    const dim3 blocks(static_cast<unsigned>((rows + threads.y - 1) / threads.y),
                      static_cast<unsigned>(std::max<int64_t>(1, (cols / V + HELD * across - 1) / (HELD * across))));
    scale_rows<V><<<blocks, threads, 0, stream>>>(d, b, c, rows, cols);
}

}  // namespace

extern "C" void diagonal(const T* d, const T* b, T* c, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid must have a block
    const bool alike = (reinterpret_cast<uintptr_t>(b) - reinterpret_cast<uintptr_t>(c)) % 16 == 0;
    (alike ? launch<16 / sizeof(T)> : launch<1>)(d, b, c, rows, cols, stream);
}
