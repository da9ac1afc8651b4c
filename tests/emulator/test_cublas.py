"""cuBLAS against numpy. Matrices are stored by column: numpy's order "F"."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import needs_compiler
from host_program import HostProgram

pytestmark = needs_compiler

Array = npt.NDArray[Any]
INVALID_VALUE, EXECUTION_FAILED = 7, 13
RANDOM = np.random.default_rng(5)


@pytest.fixture(scope="module")
def cublas(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    return HostProgram("cublas", tmp_path_factory.mktemp("cublas"))


def _matrix(rows: int, columns: int, leading: int, dtype: npt.DTypeLike = np.float32) -> Array:
    """A matrix with `leading` elements from one column to the next; what lies between is not a number."""
    storage = np.full((leading, columns), np.nan, dtype=dtype, order="F")
    storage[:rows] = RANDOM.standard_normal((rows, columns))
    return storage


def _normal(*shape: int) -> Array:
    return np.asarray(RANDOM.standard_normal(shape), dtype=np.float32)


@pytest.mark.parametrize("name", ["sgemm", "dgemm"])
@pytest.mark.parametrize("transpose", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (16, 4, 8), (17, 5, 3), (33, 31, 70), (3, 2, 0)])
def test_products_of_every_layout(
    cublas: HostProgram, name: str, transpose: tuple[int, int], shape: tuple[int, int, int]
) -> None:
    m, n, k = shape
    dtype = np.float32 if name == "sgemm" else np.float64
    rows_a, columns_a = (k, m) if transpose[0] else (m, k)
    rows_b, columns_b = (n, k) if transpose[1] else (k, n)
    a = _matrix(rows_a, columns_a, rows_a + 3, dtype)
    b = _matrix(rows_b, columns_b, rows_b + 1, dtype)
    c = _matrix(m, n, m + 2, dtype)
    factors = [
        x[:rows].T if flag else x[:rows] for x, rows, flag in ((a, rows_a, transpose[0]), (b, rows_b, transpose[1]))
    ]
    expected = 1.5 * (factors[0] @ factors[1]) + 0.5 * c[:m]
    scalars = np.array([1.5, 0.5], dtype=dtype)
    assert cublas(name, *transpose, m, n, k, scalars, a, rows_a + 3, b, rows_b + 1, c, m + 2) == 0
    np.testing.assert_allclose(c[:m], expected, rtol=1e-4, atol=1e-5)
    assert np.isnan(c[m:]).all()


def test_c_is_not_read_when_beta_is_zero(cublas: HostProgram) -> None:
    a, b, c = _matrix(4, 4, 4), _matrix(4, 4, 4), np.full((4, 4), np.nan, dtype=np.float32, order="F")
    assert cublas("sgemm", 0, 0, 4, 4, 4, np.array([1, 0], dtype=np.float32), a, 4, b, 4, c, 4) == 0
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-6)


def test_a_leading_dimension_below_the_rows_is_refused(cublas: HostProgram) -> None:
    a = _matrix(4, 4, 4)
    scalars = np.array([1, 0], dtype=np.float32)
    assert cublas("sgemm", 0, 0, 4, 4, 4, scalars, a, 3, a, 4, a.copy(), 4) == INVALID_VALUE


def test_half_precision_is_summed_in_float_and_rounded_once(cublas: HostProgram) -> None:
    a, b = (RANDOM.standard_normal((24, 24)).astype(np.float16, order="F") for _ in range(2))
    c = np.zeros((24, 24), dtype=np.float16, order="F")
    assert cublas("hgemm", 24, a, b, c) == 0
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_products_of_16_bits_into_float(cublas: HostProgram, bfloat16: bool) -> None:
    a, b = (RANDOM.integers(-8, 8, (20, 20)).astype(np.float32, order="F") for _ in range(2))
    c = np.zeros((20, 20), dtype=np.float32, order="F")
    small = [_upper_half(x) if bfloat16 else x.astype(np.float16, order="F") for x in (a, b)]
    assert cublas("mixed", int(bfloat16), 20, *small, c) == 0
    assert (c == a @ b).all()


def _upper_half(array: Array) -> Array:
    return (array.view(np.uint32) >> 16).astype(np.uint16, order="F")


def test_products_of_bytes_into_integers(cublas: HostProgram) -> None:
    a, b = (RANDOM.integers(-128, 128, (19, 19)).astype(np.int8, order="F") for _ in range(2))
    c = np.zeros((19, 19), dtype=np.int32, order="F")
    assert cublas("integers", 19, a, b, c) == 0
    assert (c == a.astype(np.int32) @ b.astype(np.int32)).all()


def test_batches_at_a_distance_and_by_address(cublas: HostProgram) -> None:
    a, b = _normal(2, 6, 3), _normal(2, 5, 6)
    c = np.zeros((2, 5, 3), dtype=np.float32)
    assert cublas("strided", 2, 3, 5, 6, a, b, c) == 0
    np.testing.assert_allclose(c, b @ a, rtol=1e-5, atol=1e-5)
    assert cublas("batched", 3, 5, 6, a, b, c) == 0
    np.testing.assert_allclose(c, b[::-1] @ a, rtol=1e-5, atol=1e-5)


def test_a_product_that_leaves_an_allocation_is_found(cublas: HostProgram) -> None:
    assert cublas("beyond") == EXECUTION_FAILED
    assert cublas.kinds() == ["out_of_bounds_global"]


@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_vectors(cublas: HostProgram, transposed: bool) -> None:
    a = _matrix(7, 4, 7)
    matrix = a.T if transposed else a
    x = _normal(matrix.shape[1])
    y = _normal(2 * matrix.shape[0])  # every second element counts
    expected = 2 * (matrix @ x) - y[::2]
    assert cublas("gemv", int(transposed), 7, 4, np.array([2, -1], dtype=np.float32), a, x, y) == 0
    np.testing.assert_allclose(y[::2], expected, rtol=1e-5, atol=1e-5)


def test_an_outer_product_with_a_vector_read_from_its_end(cublas: HostProgram) -> None:
    x, y = _normal(5), _normal(3)
    a = np.zeros((5, 3), dtype=np.float32, order="F")
    assert cublas("ger", 5, 3, x, y, a) == 0
    np.testing.assert_allclose(a, 2 * np.outer(x, y[::-1]), rtol=1e-6)


def test_a_sum_of_matrices_transposes(cublas: HostProgram) -> None:
    a = _matrix(4, 6, 4)
    c = np.zeros((6, 4), dtype=np.float32, order="F")
    assert cublas("transposed", 6, 4, a, c) == 0
    assert (c == a.T).all()


def test_vectors(cublas: HostProgram) -> None:
    x, y = np.array([3, -7, 0.5, 7], dtype=np.float32), np.array([1, 2, 3, 4], dtype=np.float32)
    results, places = np.zeros(3, dtype=np.float32), np.zeros(2, dtype=np.int32)
    expected = [float(x @ y), float(np.sqrt(x @ x)), float(np.abs(x).sum())]
    scaled = 2 * x + y
    assert cublas("vectors", 4, x, y, results, places) == 0
    np.testing.assert_allclose(results, expected, rtol=1e-6)
    assert places.tolist() == [2, 3]
    assert x.tolist() == scaled.tolist()


def test_a_handle_keeps_its_settings(cublas: HostProgram) -> None:
    assert cublas("settings") == 1
