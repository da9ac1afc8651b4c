// What torch extensions in CUDA use of torch, as their authors write it for a GPU.
#include <torch/extension.h>

#include <ATen/AccumulateType.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Exceptions.h>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")

template <typename scalar_t>
__global__ void scale_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int n, float factor) {
    using acc_t = at::acc_type<scalar_t, true>;
    CUDA_KERNEL_LOOP(i, n) {
        const acc_t value = static_cast<acc_t>(x[i]) * factor;
        y[i] = static_cast<scalar_t>(value);
    }
}

torch::Tensor scale(const torch::Tensor& x, double factor) {
    CHECK_CUDA(x);
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    auto y = torch::empty_like(x);
    const cudaStream_t stream = at::cuda::getCurrentCUDAStream(x.get_device());
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.type(), "scale", [&] {
        const int n = static_cast<int>(x.numel());
        scale_kernel<scalar_t><<<at::cuda::detail::GET_BLOCKS(n, 128), 128, 0, stream>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n, static_cast<float>(factor));
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    AT_CUDA_CHECK(cudaStreamSynchronize(stream));
    return y;
}

__global__ void rows_kernel(
    torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x,
    torch::PackedTensorAccessor32<float, 1, torch::RestrictPtrTraits> sums) {
    const int row = blockIdx.x;
    for (int i = threadIdx.x; i < x.size(1); i += blockDim.x) gpuAtomicAdd(&sums[row], x[row][i]);
}

torch::Tensor row_sums(torch::Tensor x) {
    const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 0);
    auto sums = torch::zeros({x.size(0)}, options);
    rows_kernel<<<x.size(0), 32>>>(
        x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
        sums.packed_accessor32<float, 1, torch::RestrictPtrTraits>());
    return sums;
}

__global__ void halves_kernel(const __half* x, at::Half* y, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    const at::Half value = x[i];
    y[i] = value > at::Half(0.0f) ? value : static_cast<at::Half>(__hneg(x[i]));
    at::native::fastAtomicAdd(y, i, n, at::Half(1.0f), true);
}

torch::Tensor halves(torch::Tensor x) {
    auto y = torch::empty_like(x);
    halves_kernel<<<1, 32>>>(
        reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), y.data_ptr<at::Half>(), x.numel());
    return y;
}

// An expression of tensors, with functions that are declared on demand.
torch::Tensor expression(torch::Tensor x, c10::optional<torch::Tensor> bias) {
    using namespace torch::indexing;
    auto y = torch::matmul(x, x.t()) + 1.0;
    if (bias.has_value()) y = y - *bias;
    y = torch::relu(y).index({Slice(None, 2)});
    return at::cat({y, torch::ones({1, y.size(1)}, y.options())}, 0).contiguous().to(torch::kCUDA);
}

std::tuple<torch::Tensor, std::vector<int64_t>, std::string> described(std::vector<torch::Tensor> tensors, int which) {
    const auto& chosen = tensors.at(which);
    return {chosen, chosen.sizes().vec(), c10::toString(chosen.scalar_type())};
}

py::tuple from_tuple(py::tuple saved) {
    return py::make_tuple(saved[1].cast<torch::Tensor>(), saved[0].cast<int>() + 1);
}

torch::Tensor unwritten(int64_t count) {
    return torch::empty({count}, torch::device(torch::kCUDA).dtype(torch::kFloat));
}

std::vector<int> device_facts() {
    const cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
    void* workspace = c10::cuda::CUDACachingAllocator::raw_alloc(64);
    c10::cuda::CUDACachingAllocator::raw_delete(workspace);
    at::cuda::CUDAEvent event;
    event.record(c10::cuda::getCurrentCUDAStream());
    event.synchronize();
    return {properties->major, at::cuda::warp_size(), c10::cuda::device_count(), int(c10::cuda::compat::max(2.0f, 3.0f))};
}

void failing() {
    TORCH_CHECK(false, "what ", 42);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("scale", &scale, "Scales.", py::arg("x"), py::arg("factor") = 2.0);
    m.def("row_sums", &row_sums);
    m.def("halves", torch::wrap_pybind_function(halves), "halves");
    m.def("expression", &expression, py::arg("x"), py::arg("bias") = py::none());
    m.def("described", &described);
    m.def("from_tuple", &from_tuple);
    m.def("unwritten", &unwritten);
    m.def("device_facts", &device_facts);
    m.def("failing", &failing);
    m.def("lambda", [](bool flag, float x) { return flag ? x : -x; });
}
