// One step of an LSTM cell with packed accessors, which also read tensors that are not dense.
#include <torch/extension.h>

#include <cuda.h>
#include <cuda_runtime.h>

#include <vector>

template <typename scalar_t>
__device__ __forceinline__ scalar_t sigmoid(scalar_t z) {
    return 1.0 / (1.0 + exp(-z));
}

template <typename scalar_t>
__global__ void lstm_kernel(const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> gates,
                            const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> old_cell,
                            torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> new_h,
                            torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> new_cell) {
    const int n = blockIdx.y;
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < gates.size(2)) {
        const scalar_t input_gate = sigmoid(gates[n][0][c]);
        const scalar_t output_gate = sigmoid(gates[n][1][c]);
        const scalar_t candidate = tanh(gates[n][2][c]);
        new_cell[n][c] = old_cell[n][c] + candidate * input_gate;
        new_h[n][c] = tanh(new_cell[n][c]) * output_gate;
    }
}

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")

std::vector<torch::Tensor> forward(torch::Tensor input, torch::Tensor weights, torch::Tensor bias,
                                   torch::Tensor old_cell) {
    CHECK_CUDA(input);
    CHECK_CUDA(weights);
    const auto gate_weights = torch::addmm(bias, input, weights.transpose(0, 1));
    const auto batch_size = old_cell.size(0);
    const auto state_size = old_cell.size(1);
    const auto gates = gate_weights.reshape({batch_size, 3, state_size});
    auto new_h = torch::zeros_like(old_cell);
    auto new_cell = torch::zeros_like(old_cell);
    const auto transposed = old_cell.t().contiguous().t();  // the same values, column by column

    const int threads = 32;
    const dim3 blocks((state_size + threads - 1) / threads, batch_size);
    AT_DISPATCH_FLOATING_TYPES(gates.scalar_type(), "lstm_forward", ([&] {
        lstm_kernel<scalar_t><<<blocks, threads>>>(
            gates.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
            transposed.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            new_h.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
            new_cell.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
    }));
    return {new_h, new_cell};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "LSTM cell (CUDA)"); }
