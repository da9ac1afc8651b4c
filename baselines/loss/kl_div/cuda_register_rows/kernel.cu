// Mean Kullback-Leibler divergence of softmaxes (Kullback and Leibler 1951, eq. 2.4). A block works on a row of both
// tensors that it keeps in registers, so that they are read only once. With the logits shifted by their maxima, t and
// s, and w = exp(t), a row's divergence is sum(w (t - s)) / sum(w) - log(sum(w)) + log(sum(exp(s))).
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int MAX_BLOCKS = 1024;
// With 16-byte vectors, 1024 threads hold 16384 floats of each tensor.
constexpr int HELD = 4;
// Each block's sum of losses, added in order by a second kernel: deterministic, unlike atomics, and of any T. The C ABI
// has no workspace; being the module's own, this one allows calls on one stream at a time.
__device__ float block_losses[MAX_BLOCKS];

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// The vectors of a row of both tensors that belong to a thread. The first HELD stay in registers; those beyond, in rows
// too long for a block, are read again for each visit, mostly from the L2 cache.
template <int V>
struct Rows {
    const Pack<V>*student, *teacher;
    int64_t vectors;
    Pack<V> s[HELD], t[HELD];

    __device__ Rows(const T* student_row, const T* teacher_row, int64_t classes)
        : student(reinterpret_cast<const Pack<V>*>(student_row)),
          teacher(reinterpret_cast<const Pack<V>*>(teacher_row)),
          vectors(classes / V) {
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
            const int64_t v = threadIdx.x + i * blockDim.x;
            if (v >= vectors) continue;
            s[i] = student[v];
            t[i] = teacher[v];
        }
    }

    // visit(student's value, teacher's value)
    template <typename Visit>
    __device__ void each(Visit visit) const {
        const auto both = [&](const Pack<V>& p, const Pack<V>& q) {
#pragma unroll
            for (int e = 0; e < V; ++e) visit(float(p.at[e]), float(q.at[e]));
        };
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) both(s[i], t[i]);
        for (int64_t v = threadIdx.x + HELD * blockDim.x; v < vectors; v += blockDim.x) both(student[v], teacher[v]);
    }
};

// Every thread gets operation over the block, whose size is a multiple of 32; `unit` changes nothing.
template <typename Operation>
__device__ float block_fold(float value, float unit, Operation operation) {
    __shared__ float partial[32];
    for (int lanes = 16; lanes > 0; lanes /= 2) value = operation(value, __shfl_xor_sync(0xffffffffu, value, lanes));
    __syncthreads();  // the previous partial results may still be being read
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : unit;
    for (int lanes = 16; lanes > 0; lanes /= 2) value = operation(value, __shfl_xor_sync(0xffffffffu, value, lanes));
    return value;
}
__device__ float block_sum(float value) {
    return block_fold(value, 0.0f, [](float a, float b) { return a + b; });
}
__device__ float block_max(float value) {
    return block_fold(value, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
}

template <int V>
__global__ void __launch_bounds__(1024)
    add_rows(const T* __restrict__ student, const T* __restrict__ teacher, int64_t rows, int64_t classes) {
    float total = 0.0f;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const Rows<V> both(student + row * classes, teacher + row * classes, classes);
        float student_top = -INFINITY, teacher_top = -INFINITY;
        both.each([&](float s, float t) {
            student_top = fmaxf(student_top, s);
            teacher_top = fmaxf(teacher_top, t);
        });
        student_top = block_max(student_top);
        teacher_top = block_max(teacher_top);
        float weights = 0.0f, others = 0.0f, apart = 0.0f;
        both.each([&](float s, float t) {
            const float weight = expf(t - teacher_top);
            weights += weight;
            others += expf(s - student_top);
            apart += weight * ((t - teacher_top) - (s - student_top));
        });
        weights = block_sum(weights);
        total += block_sum(apart) / weights - logf(weights) + logf(block_sum(others));
    }
    if (threadIdx.x == 0) block_losses[blockIdx.x] = total;
}

__global__ void __launch_bounds__(MAX_BLOCKS) average(T* loss, int blocks, int64_t rows) {
    const float total = block_sum(threadIdx.x < blocks ? block_losses[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *loss = T(total / rows);
}

template <int V>
void launch(const T* student, const T* teacher, T* loss, int64_t rows, int64_t classes, cudaStream_t stream) {
    const int64_t warps = (classes / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    const auto blocks = static_cast<int>(std::min<int64_t>(rows, MAX_BLOCKS));
    add_rows<V><<<blocks, threads, 0, stream>>>(student, teacher, rows, classes);
    average<<<1, MAX_BLOCKS, 0, stream>>>(loss, blocks, rows);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void kl_div(const T* student, const T* teacher, T* loss, int64_t rows, int64_t classes,
                       cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = classes % V == 0 && aligned(student) && aligned(teacher);
    (vectors ? launch<V> : launch<1>)(student, teacher, loss, rows, classes, stream);
}
