"""Small files in other suites' formats, written for these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = "import torch\nimport torch.nn as nn\n\n"

AFFINE = (
    HEAD
    + '''class Model(nn.Module):
    """Rows times a matrix, plus an offset."""

    def __init__(self, columns, features):
        super().__init__()
        self.layer = nn.Linear(columns, features)

    def forward(self, x):
        return self.layer(x)


rows = 2048 * 2
columns, features = 512, 256


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return [columns, features]
'''
)

GROUPS = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, inputs, features, num_groups):
        super().__init__()
        self.layer = nn.Linear(inputs, features)
        self.norm = nn.GroupNorm(num_groups, features)

    def forward(self, x):
        return self.norm(self.layer(x))


rows, inputs, features, num_groups = 1024, 384, 4096, 256


def get_inputs():
    return [torch.rand(rows, inputs)]


def get_init_inputs():
    return [inputs, features, num_groups]
"""
)

TIED = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, scores, signs):
        return torch.clamp(1 - scores * signs, min=0).mean()


rows = 20000
widths = (20000,)


def get_inputs():
    return [torch.rand(rows, *widths), torch.randint(0, 2, (rows,)).float() * 2 - 1]
"""
)

PERCEPTRON = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, inputs, layer_sizes, num_layers):
        super().__init__()
        self.first = nn.Linear(inputs, layer_sizes[0])
        self.second = nn.ModuleList([nn.Linear(layer_sizes[0], layer_sizes[1]) for _ in range(num_layers)])

    def forward(self, x):
        return sum(layer(self.first(x)) for layer in self.second)


batch, inputs = 128, 256
layer_sizes = [512, 320]
num_layers = 2


def get_inputs():
    return [torch.rand(batch, inputs)]


def get_init_inputs():
    return [inputs, layer_sizes, num_layers]
"""
)

VOLUME = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


batch, features, depth, height, width = 64, 64, 64, 64, 64


def get_inputs():
    return [torch.rand(batch, features, depth, height, width)]


def get_init_inputs():
    return []
"""
)

MANY_GROUPS = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


batch, channels, groups = 1024, 1024, 256


def get_inputs():
    return [torch.rand(batch, channels)]


def get_init_inputs():
    return [channels, groups]
"""
)

GROUPED = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3)
        self.norm = nn.GroupNorm(groups, channels)
        self.register_buffer("mask", torch.ones(1, channels, 1, 1) * 2)

    def forward(self, x):
        return self.norm(self.convolution(x) * self.mask)


batch, channels, groups = 32, 48, 6
height = width = 64


def get_inputs():
    return [torch.rand(batch, channels, height, width)]


def get_init_inputs():
    return [channels, groups]
"""
)

LOSS = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, logits, targets):
        return nn.functional.cross_entropy(logits, targets)


rows = 128
classes = 40


def get_inputs():
    return [torch.rand(rows, classes), torch.randint(0, classes, (rows,))]
"""
)

MASKED = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x, mask, factor):
        return torch.where(mask, x, 0.0) * factor


shape = (96, 80)


def get_inputs():
    x = torch.rand(*shape)
    return [x, torch.randint(0, 2, x.shape).bool(), 2.5]


def get_init_inputs():
    return []
"""
)

TRIANGLES = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, A, B):
        return torch.triu(A @ B)


N = 256


def get_inputs():
    return [torch.triu(torch.rand(N, N)), torch.triu(torch.rand(N, N))]
"""
)

RECURRENT = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(width, hidden, 1, batch_first=True)

    def forward(self, x):
        h0 = torch.randn(1, x.shape[0], self.hidden)
        c0 = torch.randn(1, x.shape[0], self.hidden)
        return self.lstm(x, (h0, c0))[0]


batch, steps, width, hidden = 8, 24, 20, 32


def get_inputs():
    return [torch.rand(batch, steps, width)]


def get_init_inputs():
    return [width, hidden]
"""
)

DROPPING = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)


rows, columns = 64, 64


def get_inputs():
    return [torch.rand(rows, columns)]
"""
)

IDLE = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x):
        x = x.max(dim=1, keepdim=True).values
        return x - x.mean(dim=1, keepdim=True)


rows, columns = 64, 64


def get_inputs():
    return [torch.rand(rows, columns)]
"""
)

CENTRED = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, columns, features):
        super().__init__()
        self.layer = nn.Linear(columns, features)
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x):
        return self.norm(self.layer(x))


rows, columns, features = 128, 64, 48


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return [columns, features]
"""
)

OVERWRITTEN = CENTRED.replace(
    "return self.norm(self.layer(x))", "y = self.norm(self.layer(x)).relu()\n        y += x.mean()\n        return y"
)
"""A gradient of the rectifier would need what is overwritten after it."""

FEW_ROWS = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=0)) / x.std(dim=0)


rows, columns = 3, 64


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
"""
)

SPREAD = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x):
        return x.std(dim=1)


rows, columns = 64, 64


def get_inputs():
    return [torch.rand(rows, columns)]
"""
)

FIXED = (
    HEAD
    + """class Model(nn.Module):
    def forward(self, x):
        assert x.shape == (3, 3)
        return x.cumsum(0) * 2


def get_inputs():
    return [torch.rand(3, 3)]
"""
)

NEW_AFFINE = (
    HEAD
    + """class ModelNew(nn.Module):
    def __init__(self, columns, features):
        super().__init__()
        self.matrix = nn.Parameter(torch.zeros(features, columns))
        self.offset = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return x @ self.matrix.T + self.offset
"""
)

FORWARD = '''import torch
import torch.nn as nn


def forward_fn(x, weight, eps, stride=1):
    """A root mean square over columns."""
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps) * weight


class Model(nn.Module):
    def __init__(self, columns=32, eps=1e-3, init_method="ones", stride=1):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(columns))
        self.eps, self.stride = eps, stride

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.eps, self.stride)


def get_inputs(rows=64, columns=32):
    return [torch.randn(rows, columns, requires_grad=True)]
'''

BACKWARD = (
    """import torch
import torch.nn as nn


class AutogradFunction(torch.autograd.Function):
    backward_fn = None

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        ctx.shape = tuple(weight.shape)
        return nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_bias, grad_x, grad_weight = AutogradFunction.backward_fn((x, weight), grad_output, ctx.shape, None)
        return grad_x, grad_weight, grad_bias
"""
    + """

def forward_fn(x, weight, bias):
    return nn.functional.linear(x, weight, bias)


class Model(nn.Module):
    def __init__(self, columns, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, columns))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.bias)


def get_inputs(rows, columns):
    return [torch.randn(rows, columns, requires_grad=True)]
"""
)

CONFIGURATIONS: dict[str, Any] = {
    "single_input_configs": [{"rows": 64}],
    "single_init_configs": [{"eps": 0.001}],
    "single_shared_configs": [{"columns": 32}],
    "multi_input_configs": [{"rows": 64}, {"rows": 200}],
    "multi_init_configs": [{"eps": 0.001, "init_method": "random"}],
    "multi_shared_configs": [{"columns": 32}, {"columns": 96}],
}

HALVES: dict[str, Any] = {
    "name": "rotated_rows",
    "op_type": "position",
    "axes": {"rows": {"type": "var"}, "size": {"type": "const", "value": 64}},
    "inputs": {name: {"shape": ["rows", "size"], "dtype": "bfloat16"} for name in ("x", "cos", "sin")},
    "outputs": {"y": {"shape": ["rows", "size"], "dtype": "bfloat16"}},
    "reference": """import torch


def run(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin
""",
}

DEFINITION: dict[str, Any] = {
    "name": "scaled_rows_h64",
    "op_type": "norm",
    "axes": {
        "rows": {"type": "var", "description": "how many"},
        "hidden": {"type": "const", "value": 64},
        "half": {"type": "expr", "expression": "hidden / 2"},
    },
    "inputs": {
        "x": {"shape": ["rows", "hidden"], "dtype": "bfloat16"},
        "table": {"shape": ["hidden"], "dtype": "float32"},
        "order": {"shape": ["rows"], "dtype": "int32"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {
        "y": {"shape": ["rows", "half"], "dtype": "bfloat16"},
        "scale": {"shape": ["rows"], "dtype": "float32"},
    },
    "custom_inputs_entrypoint": "make",
    "reference": """import torch


def make(axes_and_scalars, device):
    rows = axes_and_scalars["rows"]
    return {"order": torch.randint(0, rows, (rows,), dtype=torch.int32, device=device)}


def run(x, table, order, eps):
    wide = x[order.long()].to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(-1) + eps)
    y = (wide * scale[:, None] * table)[:, : x.shape[1] // 2]
    return y.to(x.dtype), scale
""",
}

WORKLOADS = [
    {"uuid": "a", "axes": {"rows": 48}, "inputs": {"x": {"type": "random"}, "eps": {"type": "scalar", "value": 0.001}}},
    {"uuid": "b", "axes": {"rows": 96}, "inputs": {"x": {"type": "random"}, "eps": {"type": "scalar", "value": 0.001}}},
]


def write_task_folder(folder: Path, source: str, direction: str = "forward", **changes: Any) -> Path:
    """A folder in robust-kbench's form."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"func_{direction}.py").write_text(source)
    (folder / f"config_{direction}.json").write_text(json.dumps({**CONFIGURATIONS, **changes}))
    return folder


def write_definition(folder: Path, **changes: Any) -> Path:
    """A definition with workloads beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "definition.json").write_text(json.dumps({**DEFINITION, **changes}))
    (folder / "workload.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in WORKLOADS))
    return folder


BACKWARD_KERNEL = """#include <torch/extension.h>

template <typename T>
__global__ void sum_rows(const T* grad, T* sums, int64_t rows, int64_t columns) {
  int64_t column = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (column >= columns) return;
  T sum = 0;
  for (int64_t row = 0; row < rows; ++row) sum += grad[row * columns + column];
  sums[column] = sum;
}

std::vector<torch::Tensor> backward(std::vector<torch::Tensor> saved, torch::Tensor grad, std::vector<int64_t> shape,
                                    c10::optional<torch::Tensor> nothing) {
  auto sums = torch::empty({grad.size(1)}, grad.options());
  int64_t rows = grad.size(0), columns = grad.size(1);
  sum_rows<float><<<(columns + 127) / 128, 128>>>(grad.data_ptr<float>(), sums.data_ptr<float>(), rows, columns);
  return {sums, at::matmul(grad, saved[1]), at::matmul(grad.t(), saved[0])};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("backward", &backward); }
"""
