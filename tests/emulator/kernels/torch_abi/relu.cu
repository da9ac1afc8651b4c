// The textbook extension: dispatch over the floating-point types and half, current stream, device guard.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

template <typename scalar_t>
__global__ void relu_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] > static_cast<scalar_t>(0) ? x[i] : static_cast<scalar_t>(0);
    }
}

torch::Tensor relu_cuda(torch::Tensor x) {
    const at::cuda::CUDAGuard guard(x.device());
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 128;
    const int blocks = (n + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "relu", ([&] {
        relu_kernel<scalar_t><<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    }));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

std::vector<torch::Tensor> forward(torch::Tensor single, torch::Tensor wide, torch::Tensor narrow) {
    TORCH_CHECK(single.is_cuda(), "single must be a CUDA tensor");
    TORCH_CHECK(wide.is_contiguous(), "wide must be contiguous");
    return {relu_cuda(single), relu_cuda(wide), relu_cuda(narrow)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "ReLU (CUDA)"); }
