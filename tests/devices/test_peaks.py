"""The table is dense and in the right units, is found by the driver's names, and bounds what is legitimate."""

from __future__ import annotations

import pytest

from robust_kbench.devices.datasheets import DATASHEETS, find, megahertz
from robust_kbench.devices.peaks import Floor, Peaks
from robust_kbench.schema.task import FloatDType, Precision

# Per board: multiprocessors, and what one of them does in a clock (operations: vector float32, tensor bfloat16 with
# float32 sums, or float16 before Ampere). From the architecture whitepapers; the table is from datasheets.
ARCHITECTURE: dict[str, tuple[int, int, int]] = {
    "v100 sxm2 16gb": (80, 128, 1024),
    "v100 sxm2 32gb": (80, 128, 1024),
    "v100 pcie 16gb": (80, 128, 1024),
    "v100 pcie 32gb": (80, 128, 1024),
    "t4": (40, 128, 1024),
    "a100 sxm4 40gb": (108, 128, 2048),
    "a100 sxm4 80gb": (108, 128, 2048),
    "a100 pcie 40gb": (108, 128, 2048),
    "a100 80gb pcie": (108, 128, 2048),
    "a10": (72, 256, 1024),
    "rtx a6000": (84, 256, 1024),
    "rtx 3090": (82, 256, 512),
    "l4": (58, 256, 1024),
    "l40s": (142, 256, 1024),
    "rtx 6000 ada generation": (142, 256, 1024),
    "rtx 4090": (128, 256, 512),
    "h100 80gb hbm3": (132, 256, 4096),
    "h100 pcie": (114, 256, 4096),
    "h100 nvl": (132, 256, 4096),
    "h200": (132, 256, 4096),
    "h200 nvl": (132, 256, 4096),
    "b200": (148, 256, 8192),
    "rtx 5090": (170, 256, 512),
}
NAMES = {
    "NVIDIA H200": 4800,
    "NVIDIA H100 80GB HBM3": 3350,
    "NVIDIA H100 PCIe": 2039,
    "NVIDIA H100 NVL": 3938,
    "NVIDIA B200": 8000,
    "NVIDIA A100-SXM4-40GB": 1555,
    "A100-SXM4-80GB": 2039,
    "NVIDIA A100-PCIE-40GB": 1555,
    "NVIDIA A100 80GB PCIe": 1935,
    "Tesla V100-SXM2-32GB": 900,
    "Tesla T4": 320,
    "NVIDIA L4": 300,
    "NVIDIA L40S": 864,
    "NVIDIA A10": 600,
    "NVIDIA GeForce RTX 3090": 936.2,
    "NVIDIA GeForce RTX 4090": 1008,
    "NVIDIA GeForce RTX 5090": 1792,
    "NVIDIA RTX A6000": 768,
    "NVIDIA RTX 6000 Ada Generation": 960,
}
T = 10**12
PLAIN = Peaks("made", 1e12, {"float64": 1 * T, "float32": 10 * T, "tf32": 40 * T, "float16": 90 * T, "fp8": 200 * T}, 0)


@pytest.mark.parametrize("name", DATASHEETS)
def test_the_rates_are_those_of_the_boards_units_at_the_clocks_of_the_row(name: str) -> None:
    sheet = DATASHEETS[name]
    units, vector, tensor = ARCHITECTURE[name]
    rated = sheet.teraflops.get("bfloat16", sheet.teraflops["float16"])
    # A figure with sparsity would be off by 2; datasheets differ from the product by 8 % at the most, upwards.
    assert 0.99 < sheet.teraflops["float32"] / (units * vector * sheet.vector_mhz / 1e6) < 1.08
    assert 0.98 < rated / (units * tensor * sheet.tensor_mhz / 1e6) < 1.01


@pytest.mark.parametrize("name", DATASHEETS)
def test_narrower_units_are_faster_by_whole_factors(name: str) -> None:
    rates = DATASHEETS[name].teraflops
    if "fp8" in rates:
        assert rates["fp8"] / rates["float16"] == pytest.approx(2, rel=0.03)
    if "tf32" in rates:
        assert rates["float16"] / rates["tf32"] == pytest.approx(round(rates["float16"] / rates["tf32"]), rel=0.03)
        assert round(rates["float16"] / rates["tf32"]) in (2, 4)


@pytest.mark.parametrize("name", NAMES)
def test_a_gpu_is_found_by_the_name_that_its_driver_gives(name: str) -> None:
    found = find(name)
    assert found is not None
    assert found.bytes_per_s == NAMES[name] * 1e9


@pytest.mark.parametrize(
    "name",
    ["NVIDIA A10G", "NVIDIA L40", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
     "NVIDIA H100 96GB HBM3", "NVIDIA B200 something", "", "NVIDIA", "AMD Instinct MI300X", "Quadro RTX 6000"],
)  # fmt: skip
def test_a_relative_of_a_known_gpu_is_another_chip(name: str) -> None:
    assert find(name) is None


def test_a_board_that_clocks_higher_than_its_datasheet_says_gets_higher_peaks() -> None:
    rated, boosted = find("NVIDIA GeForce RTX 4090"), find("NVIDIA GeForce RTX 4090", 3105)
    assert rated is not None
    assert boosted is not None
    assert boosted.flops_per_s["bfloat16"] == pytest.approx(165.2 * T * 3105 / 2520)
    assert boosted.bytes_per_s == rated.bytes_per_s


def test_hoppers_tensor_cores_are_rated_below_its_maximum_clock_and_its_vector_units_are_not() -> None:
    found = find("NVIDIA H200", 1980)
    assert found is not None
    assert found.flops_per_s["float32"] == pytest.approx(67 * T)
    assert found.flops_per_s["bfloat16"] == pytest.approx(989.4 * T * 1980 / 1830)


@pytest.mark.parametrize(("mhz", "factor"), [(0, 1.0), (300, 1.0), (1410, 1.0), (2820, 1.5), (10**9, 1.5)])
def test_a_clock_that_cannot_be_moves_no_bound_far(mhz: int, factor: float) -> None:
    found = find("NVIDIA A100-SXM4-40GB", mhz)
    assert found is not None
    assert found.flops_per_s["float32"] == pytest.approx(19.5 * T * factor)


@pytest.mark.parametrize(
    ("text", "mhz"),
    [("1980 MHz", 1980), ("1980", 1980), ("[N/A]", None), ("", None), ("-5 MHz", None), ("1e3 MHz", None), ("٣", None)],
)
def test_a_clock_is_a_plain_number_or_unknown(text: str, mhz: int | None) -> None:
    assert megahertz(text) == mhz


@pytest.mark.parametrize(
    ("dtype", "contract", "tera"),
    [
        ("float32", "ieee", 30),  # three products of halves beat the vector units
        ("float32", "tf32_ok", 90),
        ("float32", "half_fp32acc", 90),
        ("float16", "ieee", 90),
        ("bfloat16", "ieee", 90),
        ("bfloat16", "any_halfacc", 90),
        ("float32", "fp8", 200),
        ("float64", "ieee", 200 / 28),  # 28 products of bytes beat the units of float64
    ],
)
def test_the_bound_is_the_fastest_unit_that_can_keep_the_contract(
    dtype: FloatDType, contract: Precision, tera: float
) -> None:
    assert PLAIN.highest_flops_per_s(dtype, contract) == pytest.approx(tera * T)


def test_units_of_double_precision_may_do_the_work_of_single() -> None:
    peaks = Peaks("made", 1e12, {"float64": 20 * T, "float32": 10 * T}, 0)
    assert peaks.highest_flops_per_s("float32", "ieee") == 20 * T


def test_a_device_whose_rates_are_unknown_is_bound_by_its_memory_alone() -> None:
    peaks = Peaks("made", 1e12, {}, 0)
    assert peaks.floor(10**18, 10**6, "float32") == Floor(1000.0, "bytes")


@pytest.mark.parametrize(
    ("flops", "moved", "floor"),
    [(30 * 10**9, 10**9, Floor(1e6, "bytes")), (60 * 10**9, 10**9, Floor(2e6, "flops")), (0, 0, Floor(0.0, "bytes"))],
)
def test_the_larger_time_is_the_floor(flops: int, moved: int, floor: Floor) -> None:
    assert PLAIN.floor(flops, moved, "float32") == floor
