// forward and backward in one module; device code in a lambda-like functor, vector loads where the size allows.
#include <cuda_runtime.h>
#include <torch/extension.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
    CHECK_CUDA(x);     \
    CHECK_CONTIGUOUS(x)

struct Swish {
    __device__ float operator()(float x, float) const { return x / (1.0f + __expf(-x)); }
};

struct SwishGrad {
    __device__ float operator()(float x, float grad) const {
        const float s = 1.0f / (1.0f + __expf(-x));
        return grad * s * (1.0f + x * (1.0f - s));
    }
};

template <typename Op>
__global__ void apply(const float4* x, const float4* grad, float4* out, size_t vectors, Op op) {
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i >= vectors) return;
    const float4 a = x[i], g = grad[i];
    out[i] = make_float4(op(a.x, g.x), op(a.y, g.y), op(a.z, g.z), op(a.w, g.w));
}

template <typename Op>
torch::Tensor launch(torch::Tensor x, torch::Tensor grad, Op op) {
    CHECK_INPUT(x);
    CHECK_INPUT(grad);
    TORCH_CHECK(x.numel() % 4 == 0 && x.dtype() == torch::kFloat32, "float32 in fours only");
    auto out = torch::empty_like(x);
    const size_t vectors = x.numel() / 4;
    apply<<<(vectors + 63) / 64, 64>>>(reinterpret_cast<const float4*>(x.data_ptr<float>()),
                                       reinterpret_cast<const float4*>(grad.data_ptr<float>()),
                                       reinterpret_cast<float4*>(out.data_ptr<float>()), vectors, op);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err));
    return out;
}

torch::Tensor swish_forward(torch::Tensor x) { return launch(x, x, Swish{}); }
torch::Tensor swish_backward(torch::Tensor grad, torch::Tensor x) { return launch(x, grad, SwishGrad{}); }

std::vector<torch::Tensor> both(torch::Tensor x, torch::Tensor grad) {
    return {swish_forward(x), swish_backward(grad, x)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("swish", &swish_forward, "Swish forward");
    m.def("backward", &swish_backward, "Swish backward");
    m.def("forward", &both, "both");
}
