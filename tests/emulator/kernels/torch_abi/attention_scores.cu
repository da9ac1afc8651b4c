// Masked softmax over the last axis of a 4-D tensor: shapes and strides taken apart on the host, opmath_type, shuffles.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/util/Half.h>
#include <torch/extension.h>

template <typename scalar_t>
__global__ void masked_softmax(const scalar_t* scores, const bool* mask, scalar_t* out, int heads, int queries,
                               int keys) {
    using opmath_t = at::opmath_type<scalar_t>;
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const bool inside = row < heads * queries;
    const int64_t base = static_cast<int64_t>(row) * keys;
    opmath_t largest = -INFINITY;
    for (int k = threadIdx.x; inside && k < keys; k += 32) {
        if (mask[row % queries * keys + k]) largest = fmaxf(largest, static_cast<opmath_t>(scores[base + k]));
    }
    for (int o = 16; o > 0; o >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, o));
    opmath_t sum = 0;
    for (int k = threadIdx.x; inside && k < keys; k += 32) {
        if (mask[row % queries * keys + k]) sum += expf(static_cast<opmath_t>(scores[base + k]) - largest);
    }
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    for (int k = threadIdx.x; inside && k < keys; k += 32) {
        const bool kept = mask[row % queries * keys + k];
        const opmath_t p = kept ? expf(static_cast<opmath_t>(scores[base + k]) - largest) / sum : opmath_t(0);
        out[base + k] = static_cast<scalar_t>(p);
    }
}

at::Tensor forward(at::Tensor q, at::Tensor k, at::Tensor mask) {
    TORCH_CHECK(q.dim() == 4, "expected (batch, heads, length, dim), got ", q.sizes());
    const auto batch = q.size(0), heads = q.size(1), length = q.size(2), dim = q.size(3);
    auto scores = at::matmul(q, k.transpose(-2, -1)).mul_(1.0 / std::sqrt(static_cast<double>(dim))).contiguous();
    auto out = at::empty_like(scores);
    const int rows = batch * heads * length;
    const dim3 block(32, 4), grid((rows + 3) / 4);
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(scores.scalar_type(), "masked_softmax", [&] {
        masked_softmax<scalar_t><<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
            scores.data_ptr<scalar_t>(), mask.data_ptr<bool>(), out.data_ptr<scalar_t>(), batch * heads, length,
            length);
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "attention probabilities"); }
