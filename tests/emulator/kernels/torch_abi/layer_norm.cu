// LayerNorm in half and bfloat16 with float accumulation: acc_type, dynamic shared memory, an optional bias.
#include <ATen/AccumulateType.h>
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

template <typename T, typename ACC>
__global__ void layer_norm_kernel(const T* x, const T* weight, const T* bias, T* y, int cols, ACC eps) {
    extern __shared__ __align__(8) unsigned char memory[];
    ACC* sums = reinterpret_cast<ACC*>(memory);
    ACC* squares = sums + blockDim.x;
    const T* row = x + blockIdx.x * cols;
    ACC sum = 0, square = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const ACC value = static_cast<ACC>(row[c]);
        sum += value;
        square += value * value;
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            squares[threadIdx.x] += squares[threadIdx.x + half];
        }
        __syncthreads();
    }
    const ACC mean = sums[0] / cols;
    const ACC scale = rsqrtf(squares[0] / cols - mean * mean + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const ACC shift = bias != nullptr ? static_cast<ACC>(bias[c]) : ACC(0);
        const ACC normal = (static_cast<ACC>(row[c]) - mean) * scale;
        y[blockIdx.x * cols + c] = static_cast<T>(normal * static_cast<ACC>(weight[c]) + shift);
    }
}

at::Tensor layer_norm_cuda(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
    c10::cuda::OptionalCUDAGuard guard(device_of(x));
    at::Tensor y = at::empty(x.sizes(), x.options());
    const int threads = 64;
    cudaStream_t stream = at::cuda::getCurrentCUDAStream().stream();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "layer_norm", [&] {
        using acc_t = at::acc_type<scalar_t, true>;
        const size_t bytes = 2 * threads * sizeof(acc_t);
        layer_norm_kernel<scalar_t, acc_t><<<x.size(0), threads, bytes, stream>>>(
            x.const_data_ptr<scalar_t>(), weight.const_data_ptr<scalar_t>(),
            bias.has_value() ? bias->const_data_ptr<scalar_t>() : nullptr, y.mutable_data_ptr<scalar_t>(),
            static_cast<int>(x.size(1)), static_cast<acc_t>(1e-5));
    });
    AT_CUDA_CHECK(cudaGetLastError());
    return y;
}

std::tuple<at::Tensor, at::Tensor> forward(at::Tensor x, at::Tensor weight, at::Tensor bias) {
    const at::Tensor with_bias = layer_norm_cuda(x, weight, bias);
    return {with_bias, layer_norm_cuda(x.to(at::kBFloat16), weight.to(at::kBFloat16), std::nullopt)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "layer norm", py::arg("x"), py::arg("weight"), py::arg("bias"));
}
