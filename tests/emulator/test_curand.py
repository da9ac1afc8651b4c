"""cuRAND's generators against numbers that cuRAND's own headers (10.3) gave on a processor."""

from ctypes import c_uint64
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import needs_compiler
from host_program import HostProgram

pytestmark = needs_compiler

Array = npt.NDArray[Any]
XORWOW, PHILOX, MRG32K3A = range(3)
GENERATORS = [XORWOW, PHILOX, MRG32K3A]
BITS, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL, POISSON = range(7)
NEAR, FAR = (1234, 7, 3), (0x123456789ABCDEF, 1000003, 4294967301)

EXPECTED_BITS = {
    (XORWOW, NEAR): [324612358, 2988894868, 2223688508, 906701663, 1924992985, 1459886507],
    (XORWOW, FAR): [3790685183, 3260199938, 477562396, 3771555880, 296622506, 1373960570],
    (PHILOX, NEAR): [502001991, 843890362, 2897886456, 3571722420, 296027329, 3990533219],
    (PHILOX, FAR): [3142188497, 4204100439, 1870529023, 2134748831, 2398312376, 3219624849],
    (MRG32K3A, NEAR): [1969104259, 1035914143, 885815260, 4192688416, 2559931890, 3701172847],
    (MRG32K3A, FAR): [2331731056, 1517284759, 3537611900, 3175417807, 883541349, 3358271364],
}
EXPECTED_NUMBERS = {
    (XORWOW, UNIFORM): ["0x1.35931p-4", "0x1.644dd6p-1", "0x1.091596p-1"],
    (PHILOX, UNIFORM): ["0x1.debf14p-4", "0x1.9265f6p-3", "0x1.59747ap-1"],
    (MRG32K3A, UNIFORM): ["0x1.d57896p-2", "0x1.edf65cp-3", "0x1.a663bep-3"],
    (XORWOW, UNIFORM_DOUBLE): ["0x1.644dd41d93106p-1", "0x1.b0597bdab2cf2p-3", "0x1.5c1068fba1fb3p-2"],
    (PHILOX, UNIFORM_DOUBLE): ["0x1.debf148p-4", "0x1.9265f5d8p-3", "0x1.597479f2p-1"],
    (MRG32K3A, UNIFORM_DOUBLE): ["0x1.d578960f47729p-2", "0x1.edf65cfb4621fp-3", "0x1.a663bee0d76eep-3"],
}
EXPECTED_NORMALS = {
    (XORWOW, NORMAL): [-2.14268, -0.75766, 1.11332, 0.27761],
    (PHILOX, NORMAL): [1.95596, 0.68366, -0.77301, 0.43518],
    (MRG32K3A, NORMAL): [1.24698, 0.06908, -0.26488, 1.75705],
    (XORWOW, NORMAL_DOUBLE): [0.8262191377, 0.2060157473, 0.5820503086, -1.3488468119],
    (PHILOX, NORMAL_DOUBLE): [-1.5719879913, 0.8849899812, -0.3256968756, 0.2023848705],
    (MRG32K3A, NORMAL_DOUBLE): [1.2469798582, 0.0690768940, -0.2648791730, 1.7570488400],
    (XORWOW, LOG_NORMAL): [0.9650, 1.3642, 2.1778, 1.7672],
    (PHILOX, LOG_NORMAL): [2.6885, 1.9560, 1.3590, 1.8382],
    (MRG32K3A, LOG_NORMAL): [2.2518, 1.6774, 1.5431, 2.5581],
}


@pytest.fixture(scope="module")
def curand(tmp_path_factory: pytest.TempPathFactory) -> HostProgram:
    return HostProgram("curand", tmp_path_factory.mktemp("curand"))


def _draw(
    curand: HostProgram, generator: int, start: tuple[int, int, int], what: int, count: int
) -> tuple[Array, Array]:
    bits, numbers = np.zeros(count, dtype=np.uint32), np.zeros(count)
    assert curand("draws", generator, *map(c_uint64, start), what, bits, numbers, count) == 0
    return bits, numbers


@pytest.mark.parametrize(("generator", "start"), EXPECTED_BITS)
def test_bits_are_exact_for_seed_sequence_and_offset(
    curand: HostProgram, generator: int, start: tuple[int, int, int]
) -> None:
    bits, _ = _draw(curand, generator, start, BITS, 6)
    assert bits.tolist() == EXPECTED_BITS[generator, start]


@pytest.mark.parametrize(("generator", "what"), EXPECTED_NUMBERS)
def test_uniform_numbers_are_exact(curand: HostProgram, generator: int, what: int) -> None:
    _, numbers = _draw(curand, generator, NEAR, what, 3)
    assert numbers.tolist() == [float.fromhex(text) for text in EXPECTED_NUMBERS[generator, what]]


@pytest.mark.parametrize(("generator", "what"), EXPECTED_NORMALS)
def test_normal_numbers_agree_to_the_last_digits(curand: HostProgram, generator: int, what: int) -> None:
    _, numbers = _draw(curand, generator, NEAR, what, 4)
    digits = 1e-10 if what == NORMAL_DOUBLE else 6e-5
    np.testing.assert_allclose(numbers, EXPECTED_NORMALS[generator, what], rtol=0, atol=digits)


@pytest.mark.parametrize("offset", range(5))
def test_four_numbers_at_once_are_the_next_four(curand: HostProgram, offset: int) -> None:
    together = np.zeros(8, dtype=np.uint32)
    assert curand("fours", c_uint64(99), offset, together) == 0
    one_by_one, _ = _draw(curand, PHILOX, (99, 3, offset), BITS, 8)
    assert together.tolist() == one_by_one.tolist()


@pytest.mark.parametrize("generator", GENERATORS)
def test_an_offset_skips_that_many_numbers(curand: HostProgram, generator: int) -> None:
    from_start, _ = _draw(curand, generator, (5, 2, 0), BITS, 20)
    later, _ = _draw(curand, generator, (5, 2, 13), BITS, 7)
    assert from_start[13:].tolist() == later.tolist()


@pytest.mark.parametrize("generator", GENERATORS)
def test_distributions_have_their_mean_and_deviation(curand: HostProgram, generator: int) -> None:
    count = 20000
    _, uniform = _draw(curand, generator, NEAR, UNIFORM, count)
    _, normal = _draw(curand, generator, NEAR, NORMAL, count)
    _, poisson = _draw(curand, generator, NEAR, POISSON, count)
    assert uniform.min() > 0
    assert uniform.max() <= 1
    assert abs(uniform.mean() - 0.5) < 0.01
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    assert abs(poisson.mean() - 4) < 0.07
    assert abs(poisson.var() - 4) < 0.25


@pytest.mark.parametrize(("generator", "size"), [(XORWOW, 48), (PHILOX, 64), (MRG32K3A, 48)])
def test_states_have_the_size_that_sources_allocate(curand: HostProgram, generator: int, size: int) -> None:
    assert curand("state_bytes", generator) == size


def test_the_host_fills_arrays(curand: HostProgram) -> None:
    normal = np.zeros(20000, dtype=np.float32)
    assert curand("from_the_host", normal, normal.size) == 0
    assert abs(normal.mean() - 10) < 0.06
    assert abs(normal.std() - 2) < 0.06
