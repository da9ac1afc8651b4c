// One step of gradient descent with momentum (Sutskever et al. 2013) in one pass: three tensors are read and two
// written, once each, in vectors of 16 bytes where the addresses allow it. All arithmetic between is float32.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 128, BYTES = 32;  // bytes of each tensor that a thread moves

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

struct Rates {
    float lr, momentum, decay;
};

// The buffer is replaced by the new one, and rounded only when stored; the new parameter is returned.
__device__ float step_of(float param, float grad, float& buffer, const Rates& rates) {
    buffer = rates.momentum * buffer + (grad + rates.decay * param);
    return param - rates.lr * buffer;
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    update(const T* __restrict__ param, const T* __restrict__ grad, const T* __restrict__ buffer,
           T* __restrict__ new_param, T* __restrict__ new_buffer, int64_t count, Rates rates) {
    constexpr int HELD = BYTES / sizeof(Pack<V>);
    const auto* params = reinterpret_cast<const Pack<V>*>(param);
    const auto* grads = reinterpret_cast<const Pack<V>*>(grad);
    const auto* buffers = reinterpret_cast<const Pack<V>*>(buffer);
    const int64_t vectors = count / V, first = int64_t(blockIdx.x) * (THREADS * HELD) + threadIdx.x;
    Pack<V> p[HELD], g[HELD], b[HELD];
    // All loads are under way before the first is needed.
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t place = first + i * THREADS;
        if (place >= vectors) continue;
        p[i] = params[place];
        g[i] = grads[place];
        b[i] = buffers[place];
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t place = first + i * THREADS;
        if (place >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) {
            float velocity = float(b[i].at[e]);
            p[i].at[e] = T(step_of(float(p[i].at[e]), float(g[i].at[e]), velocity, rates));
            b[i].at[e] = T(velocity);
        }
        reinterpret_cast<Pack<V>*>(new_param)[place] = p[i];
        reinterpret_cast<Pack<V>*>(new_buffer)[place] = b[i];
    }
    // Fewer than V elements lie behind the whole vectors.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) {
        float velocity = float(buffer[rest]);
        new_param[rest] = T(step_of(float(param[rest]), float(grad[rest]), velocity, rates));
        new_buffer[rest] = T(velocity);
    }
}

template <int V>
void launch(const T* param, const T* grad, const T* buffer, T* new_param, T* new_buffer, int64_t count,
            const Rates& rates, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(count / (THREADS * BYTES / int64_t(sizeof(T))) + 1);
    update<V><<<blocks, THREADS, 0, stream>>>(param, grad, buffer, new_param, new_buffer, count, rates);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void sgd_momentum_step(const T* param, const T* grad, const T* momentum_buffer, double lr, double momentum,
                                  double weight_decay, T* new_param, T* new_momentum_buffer, int64_t rows,
                                  int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    const Rates rates = {float(lr), float(momentum), float(weight_decay)};
    const bool vectors = aligned(param) && aligned(grad) && aligned(momentum_buffer) && aligned(new_param) &&
                         aligned(new_momentum_buffer);
    (vectors ? launch<16 / sizeof(T)> : launch<1>)(param, grad, momentum_buffer, new_param, new_momentum_buffer,
                                                   rows * cols, rates, stream);
}
