from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import subprocess
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest
import torch
from conftest import needs_compiler

from robust_kbench.emulator import toolchain, torch_headers
from robust_kbench.emulator.rewrite import rewrite

SOURCE = Path(__file__).parent / "host" / "torch_extension.cu"


def test_only_the_operators_that_a_source_calls_are_included() -> None:
    options = torch_headers.compile_options("auto y = torch::relu(x.exp()); int sum = 0;", "k")
    included = [option for option in options if option.startswith("ATen/ops/")]
    assert included == ["ATen/ops/relu.h"]


def test_a_source_of_many_names_takes_no_more_memory_than_its_own() -> None:
    source = "".join(f"a{number}(" for number in range(200_000)) + "relu(x)"
    torch_headers.compile_options("", "k")  # what is read once
    tracemalloc.start()
    assert "ATen/ops/relu.h" in torch_headers.compile_options(source, "k")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < len(source)


@pytest.mark.parametrize("text", ["torch::nn::Linear l;", "struct F : torch::autograd::Function<F> {};", "py::dict d;"])
def test_sources_that_need_more_are_told_by_name(text: str) -> None:
    assert torch_headers.needs_whole(text)


def test_most_sources_need_no_more() -> None:
    assert not torch_headers.needs_whole(SOURCE.read_text())


@pytest.mark.parametrize(
    ("log", "whole"),
    [
        ("k.cu:3:10: error: ‘jit’ is not a member of ‘torch’", True),
        ("k.cu:3:10: error: no matching function for call to ‘kbemu::python::make_callable(int)’", True),
        ("k.cu:3:10: error: expected ‘;’ before ‘}’ token", False),
        ("k.cu:3:10: error: ‘threadldx’ was not declared in this scope", False),
    ],
)
def test_errors_that_may_be_our_headers_fault_are_recognised(log: str, whole: bool) -> None:
    assert torch_headers.may_need_whole(log) == whole


def _build(text: str, name: str, folder: Path, *, whole: bool = False, checked: bool = False) -> ModuleType:
    runtime = toolchain.runtime_library()
    library = torch_headers.library(toolchain.cache_folder(), runtime)
    source, target = folder / f"{name}.cu", folder / f"{name}.so"
    source.write_text(rewrite(text, source.name).text)
    options = torch_headers.compile_options(text, name, whole=whole)
    links = torch_headers.link_options(library)
    for command in toolchain.commands(source, target, runtime, checked=checked, options=options, libraries=links):
        subprocess.run(command, capture_output=True, text=True, check=True)
    loader = importlib.machinery.ExtensionFileLoader(name, str(target))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=["plain", "checked", "whole"])
def extension(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    mode: str = request.param
    folder = tmp_path_factory.mktemp("torch_extension")
    return _build(SOURCE.read_text(), f"extension_{mode}", folder, whole=mode == "whole", checked=mode == "checked")


# The whole of torch's headers takes half a minute to compile, ours a few seconds.
slow = [needs_compiler, pytest.mark.slow]


class TestExtension:
    pytestmark = slow

    @pytest.fixture(autouse=True)
    def clear_the_last_error(self) -> None:
        """A process has one emulator, and a test before may have left an error that the next launch would report."""
        ctypes.CDLL(str(toolchain.runtime_library())).kbemu_last_error(True)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
    def test_a_kernel_is_chosen_by_the_tensors_type(self, extension: ModuleType, dtype: torch.dtype) -> None:
        x = torch.randn(300, dtype=dtype)
        assert torch.equal(extension.scale(x, 4.0), x * 4)

    def test_arguments_have_names_and_defaults(self, extension: ModuleType) -> None:
        x = torch.arange(5.0)
        assert torch.equal(extension.scale(factor=3.0, x=x), x * 3)
        assert torch.equal(extension.scale(x), x * 2)

    def test_accessors_and_torchs_atomics(self, extension: ModuleType) -> None:
        x = torch.randint(-9, 9, (4, 100)).float()
        assert torch.equal(extension.row_sums(x), x.sum(1))

    def test_both_kinds_of_half_convert_and_compare(self, extension: ModuleType) -> None:
        x = torch.tensor([1.5, -2.0, 0.25], dtype=torch.float16)
        assert torch.equal(extension.halves(x), x.abs() + 1)

    def test_tensors_have_operators_methods_and_functions(self, extension: ModuleType) -> None:
        x, bias = torch.randn(3, 5), torch.ones(3)
        product = x @ x.t()
        expected = torch.cat([torch.relu(product + 1)[:2], torch.ones(1, 3)])
        torch.testing.assert_close(extension.expression(x), expected)
        torch.testing.assert_close(
            extension.expression(x, bias), torch.cat([torch.relu(product)[:2], torch.ones(1, 3)])
        )

    def test_containers_are_passed_and_returned(self, extension: ModuleType) -> None:
        x = torch.zeros(2, 3, dtype=torch.float16)
        chosen, sizes, name = extension.described([torch.ones(1), x], 1)
        assert chosen is x
        assert (sizes, name) == ([2, 3], "Half")

    def test_python_tuples_are_passed_and_returned(self, extension: ModuleType) -> None:
        x = torch.ones(1)
        first, second = extension.from_tuple((4, x))
        assert first is x
        assert second == 5

    def test_lambdas_are_functions(self, extension: ModuleType) -> None:
        assert getattr(extension, "lambda")(False, 1.5) == -1.5

    def test_tensors_lie_in_memory_of_the_device(self, extension: ModuleType) -> None:
        runtime = ctypes.CDLL(str(toolchain.runtime_library()))
        runtime.kbemu_is_device_memory.restype = ctypes.c_bool
        address = extension.unwritten(7).data_ptr()
        tensor = extension.unwritten(7)
        address = tensor.data_ptr()
        assert runtime.kbemu_is_device_memory(ctypes.c_void_p(address), ctypes.c_size_t(28))
        assert not runtime.kbemu_is_device_memory(ctypes.c_void_p(address), ctypes.c_size_t(29))

    def test_the_device_is_described(self, extension: ModuleType) -> None:
        assert extension.device_facts() == [8, 32, 1, 3]

    def test_a_failed_check_is_a_python_exception(self, extension: ModuleType) -> None:
        with pytest.raises(RuntimeError, match="what 42"):
            extension.failing()

    @pytest.mark.parametrize("arguments", [(), (1,), (torch.ones(1), 2.0, 3), (None,), (torch.ones(1), "two")])
    def test_wrong_arguments_are_type_errors(self, extension: ModuleType, arguments: tuple[object, ...]) -> None:
        with pytest.raises(TypeError):
            extension.scale(*arguments)
