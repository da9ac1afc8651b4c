// One step of AdamW (Loshchilov and Hutter 2019, algorithm 2), all of it in one pass: four tensors are read and three
// written, once each, in vectors of 16 bytes where the addresses allow it. All arithmetic between is float32.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 128, BYTES = 32;  // bytes of each tensor that a thread moves

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// What all elements share. The host computes it in float64: of a beta that was rounded to float32, few digits of
// 1 - beta are left.
struct Factors {
    float beta1, beta2, rest1, rest2;  // rest = 1 - beta
    float decay;                       // 1 - lr * weight_decay
    float rate;                        // lr / (1 - beta1^step)
    float unbias;                      // 1 / sqrt(1 - beta2^step)
    float eps;
};

// The moments are replaced by the new ones, the new parameter is returned. Moments are rounded only when stored.
__device__ float step_of(float param, float grad, float& avg, float& sq, const Factors& f) {
    avg = f.beta1 * avg + f.rest1 * grad;
    sq = f.beta2 * sq + f.rest2 * grad * grad;
    return f.decay * param - f.rate * (avg / (sqrtf(sq) * f.unbias + f.eps));
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    update(const T* __restrict__ param, const T* __restrict__ grad, const T* __restrict__ avg,
           const T* __restrict__ sq, T* __restrict__ new_param, T* __restrict__ new_avg, T* __restrict__ new_sq,
           int64_t count, Factors factors) {
    constexpr int HELD = BYTES / sizeof(Pack<V>);
    const auto* params = reinterpret_cast<const Pack<V>*>(param);
    const auto* grads = reinterpret_cast<const Pack<V>*>(grad);
    const auto* avgs = reinterpret_cast<const Pack<V>*>(avg);
    const auto* sqs = reinterpret_cast<const Pack<V>*>(sq);
    const int64_t vectors = count / V, first = int64_t(blockIdx.x) * (THREADS * HELD) + threadIdx.x;
    Pack<V> p[HELD], g[HELD], m[HELD], v[HELD];
    // All loads are under way before the first is needed.
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t place = first + i * THREADS;
        if (place >= vectors) continue;
        p[i] = params[place];
        g[i] = grads[place];
        m[i] = avgs[place];
        v[i] = sqs[place];
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t place = first + i * THREADS;
        if (place >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) {
            float mean = float(m[i].at[e]), square = float(v[i].at[e]);
            p[i].at[e] = T(step_of(float(p[i].at[e]), float(g[i].at[e]), mean, square, factors));
            m[i].at[e] = T(mean);
            v[i].at[e] = T(square);
        }
        reinterpret_cast<Pack<V>*>(new_param)[place] = p[i];
        reinterpret_cast<Pack<V>*>(new_avg)[place] = m[i];
        reinterpret_cast<Pack<V>*>(new_sq)[place] = v[i];
    }
    // Fewer than V elements lie behind the whole vectors.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) {
        float mean = float(avg[rest]), square = float(sq[rest]);
        new_param[rest] = T(step_of(float(param[rest]), float(grad[rest]), mean, square, factors));
        new_avg[rest] = T(mean);
        new_sq[rest] = T(square);
    }
}

template <int V>
void launch(const T* param, const T* grad, const T* avg, const T* sq, T* new_param, T* new_avg, T* new_sq,
            int64_t count, const Factors& factors, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(count / (THREADS * BYTES / int64_t(sizeof(T))) + 1);
    update<V><<<blocks, THREADS, 0, stream>>>(param, grad, avg, sq, new_param, new_avg, new_sq, count, factors);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void adamw_step(const T* param, const T* grad, const T* exp_avg, const T* exp_avg_sq, double lr,
                           double beta1, double beta2, double eps, double weight_decay, int64_t step, T* new_param,
                           T* new_exp_avg, T* new_exp_avg_sq, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    Factors factors;
    factors.beta1 = float(beta1), factors.rest1 = float(1.0 - beta1);
    factors.beta2 = float(beta2), factors.rest2 = float(1.0 - beta2);
    factors.decay = float(1.0 - lr * weight_decay), factors.eps = float(eps);
    factors.rate = float(lr / (1.0 - std::pow(beta1, double(step))));
    factors.unbias = float(1.0 / std::sqrt(1.0 - std::pow(beta2, double(step))));
    const bool vectors = aligned(param) && aligned(grad) && aligned(exp_avg) && aligned(exp_avg_sq) &&
                         aligned(new_param) && aligned(new_exp_avg) && aligned(new_exp_avg_sq);
    (vectors ? launch<16 / sizeof(T)> : launch<1>)(param, grad, exp_avg, exp_avg_sq, new_param, new_exp_avg,
                                                   new_exp_avg_sq, rows * cols, factors, stream);
}
