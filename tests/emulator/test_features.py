"""Features that cannot be emulated are named with their places; a mention that is no use is not."""

from __future__ import annotations

import pytest

from robust_kbench.emulator.rewrite import rewrite, rewrite_tree
from robust_kbench.errors import Unsupported


@pytest.mark.parametrize(
    ("source", "feature"),
    [
        ("#include <cutlass/gemm/device/gemm.h>", "CUTLASS (cutlass/gemm/device/gemm.h)"),
        ('#include "cute/tensor.hpp"', "CuTe (cute/tensor.hpp)"),
        ('#  include /* */ "kittens.cuh"', "ThunderKittens (kittens.cuh)"),
        ("#include <cudnn.h>", "cuDNN (cudnn.h)"),
        ("#include <cublasLt.h>", "cuBLASLt (cublasLt.h)"),
        ("#include <thrust/device_vector.h>", "Thrust (thrust/device_vector.h)"),
        ("#include <nccl.h>", "NCCL (nccl.h)"),
        ("#include <nvrtc.h>", "NVRTC (nvrtc.h)"),
        ("#include <cusparse.h>", "cuSPARSE (cusparse.h)"),
        ("#include <cuda_egl_interop.h>", "the header cuda_egl_interop.h"),
        ("using namespace cute;", "CuTe (cute)"),
        ("namespace c = cutlass;", "CUTLASS (cutlass)"),
        ("void f() { thrust::sort(a, b); }", "Thrust (thrust)"),
        ("__device__ float f(cudaTextureObject_t t) { return 0; }", "a texture (cudaTextureObject_t)"),
        ("__device__ float f() { return tex2D<float>(t, 1, 2); }", "the texture fetch tex2D"),
        ("__device__ float f() { return tex1Dfetch(t, 1); }", "the texture fetch tex1Dfetch"),
        ("__device__ void f() { surf2Dwrite(x, s, 1, 2); }", "the surface access surf2Dwrite"),
        ("__global__ void __cluster_dims__(2, 1, 1) k() { }", "a cluster of blocks (__cluster_dims__)"),
        ("__global__ void k() { auto c = cg::this_cluster(); }", "a cluster of blocks (this_cluster)"),
        ("void f() { cg::cluster_group c = g(); }", "a cluster of blocks (cluster_group)"),
        ("void f() { cudaGraphInstantiate(&a, b, 0); }", "a CUDA graph (cudaGraphInstantiate)"),
        ("cudaGraph_t graph;", "a CUDA graph (cudaGraph_t)"),
        ("void f() { cudaStreamBeginCapture(s, m); }", "a CUDA graph (cudaStreamBeginCapture)"),
        ("void f() { cudaIpcGetMemHandle(&h, p); }", "sharing memory between processes (cudaIpcGetMemHandle)"),
        ("void f() { nvrtcCompileProgram(p, 0, 0); }", "compiling at run time (nvrtcCompileProgram)"),
        ("void f() { cuLaunchKernel(k, 1, 1, 1); }", "the driver API (cuLaunchKernel)"),
        ("void f() { cuModuleLoadData(&m, p); }", "the driver API (cuModuleLoadData)"),
        ("void k(const CUtensorMap* m);", "the tensor memory accelerator (CUtensorMap)"),
        ("void f() { cudnnCreate(&h); }", "cuDNN (cudnnCreate)"),
        ("#define CREATE() cublasLtCreate(&h)", "cuBLASLt (cublasLtCreate)"),
        ("__global__ void k() { l<<<1, 1>>>(); }", "a launch by a kernel"),
        ("template <class T> __global__ void __launch_bounds__(1) k(T* x) { if (x) { l<T><<<1, 1>>>(x); } }",
         "a launch by a kernel"),
        ("struct A { __device__ void operator()(int i) const { l<<<1, 1>>>(); } };", "a launch by a kernel"),
        ("namespace a { __device__ __forceinline__ void f() { l<<<1, 1>>>(); } }", "a launch by a kernel"),
        ("#define KERNEL(name) __global__ void name() { l<<<1, 1>>>(); }", "a launch by a kernel"),
    ],
)  # fmt: skip
def test_a_feature_that_only_a_device_has_is_named_with_its_place(source: str, feature: str) -> None:
    with pytest.raises(Unsupported) as caught:
        rewrite(f"// first line\n\n{source}\n", "src/kernel.cu")
    assert str(caught.value) == f"{feature} at src/kernel.cu:3 cannot be emulated; a CUDA device can run it"


@pytest.mark.parametrize(
    "source",
    [
        "// #include <cutlass/cutlass.h>\n/* thrust::sort cudaGraph_t tex2D(a) */",
        'const char* text = "#include <thrust/sort.h> cudnnCreate";',
        "#if 0\n#include <cudnn.h>\nthrust::sort(a);\n#endif",
        "#ifdef __HIP_PLATFORM_AMD__\n#include <thrust/sort.h>\n#endif",
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n__global__ void __cluster_dims__(2) k() { }\n#endif",
        "#define USE_CUDNN 0\n#if USE_CUDNN\n#include <cudnn.h>\n#endif",
        "#include <vector>\n#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cub/cub.cuh>",
        "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>",
        '#include "cuda_helpers.cuh"',
        "int x = options.cluster_group + plan->tex2D(1);",
        "__device__ float tex2D(const float* p, int x, int y) { return p[x]; }\nfloat a = tex2D(p, 1, 2);",
        "namespace kittens { int a; }\nint b = kittens::a;",
        "int cute = 1, thrust = cute + 2;",
        "cudaGraphics; ncclx; cudnn_like; cute_name; at::cuda::CUDAGraph graph;",
        "__host__ __device__ void f() { l<<<1, 1>>>(); }",
        "void f() { l<<<1, 1>>>(); }\n__global__ void k() { }\nvoid g() { l<<<1, 1>>>(); }",
        "__device__ int a; void f() { l<<<1, 1>>>(); }",
        "__global__ void k(); void f() { l<<<1, 1>>>(); }",
    ],
)
def test_what_only_looks_like_it_is_accepted(source: str) -> None:
    assert rewrite(source, "kernel.cu").text.startswith('#line 1 "kernel.cu"\n')


def test_the_first_of_several_is_named() -> None:
    with pytest.raises(Unsupported, match=r"^Thrust \(thrust\) at kernel.cu:1 "):
        rewrite("int a = thrust::b;\n#include <cudnn.h>\ncudaGraph_t c;", "kernel.cu")


def test_a_branch_that_may_be_compiled_counts() -> None:
    with pytest.raises(Unsupported, match=r"^cuDNN \(cudnn.h\) at kernel.cu:2 "):
        rewrite("#ifdef WITH_CUDNN\n#include <cudnn.h>\n#endif", "kernel.cu")


def test_a_header_of_the_submission_may_be_called_like_one_of_cuda() -> None:
    sources = {"kernel.cu": "#include <cuda_tools.h>", "cuda_tools.h": "int a;"}
    assert rewrite_tree(sources)["kernel.cu"].text == '#line 1 "kernel.cu"\n#include <cuda_tools.h>'
