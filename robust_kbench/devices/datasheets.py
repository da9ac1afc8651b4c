"""Datasheet peaks of common GPUs: dense, without structured sparsity, which datasheets often print first.

A datasheet's peak holds at the clock that it was computed for, and boards run faster: GeForce and workstation cards go
10-20 % above their boost clock, Hopper's tensor cores are rated 8 % below its maximum. So each row carries its clocks,
and `find` scales the peaks to the maximum that the driver reports. GeForce boards can keep sums of halves in halves at
twice the rate: for them `float16` and `fp8` are that rate, `bfloat16` the one with float32 sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from robust_kbench.devices.peaks import Peaks, Unit

_VECTOR_UNITS: frozenset[Unit] = frozenset({"float64", "float32"})
_MAX_OVERCLOCK = 1.5
"""Largest multiple of the rated clock that is believed of a reported maximum clock."""


@dataclass(frozen=True)
class Datasheet:
    """Datasheet of a board: GB/s, TFLOP/s by unit, MiB of L2 cache, and the clocks in MHz that the rates are for."""

    source: str
    gigabytes_per_s: float
    l2_mib: int
    vector_mhz: int
    tensor_mhz: int
    teraflops: dict[Unit, float]

    def peaks(self, max_sm_mhz: int | None = None) -> Peaks:
        """Return the bounds at the board's highest clock; those printed where the driver does not tell the clock."""
        return Peaks(
            source=self.source,
            bytes_per_s=self.gigabytes_per_s * 1e9,
            flops_per_s={unit: rate * 1e12 * self._faster(unit, max_sm_mhz) for unit, rate in self.teraflops.items()},
            cache_bytes=self.l2_mib << 20,
        )

    def _faster(self, unit: Unit, max_sm_mhz: int | None) -> float:
        rated_mhz = self.vector_mhz if unit in _VECTOR_UNITS else self.tensor_mhz
        factor = (max_sm_mhz or rated_mhz) / rated_mhz
        return min(max(factor, 1.0), _MAX_OVERCLOCK)


def find(name: str, max_sm_mhz: int | None = None) -> Peaks | None:
    """Find the bounds of the GPU that the driver calls `name`; None for one that is not in the table.

    Names must match in full: an A10G, an H100 of another memory size or a laptop's RTX 4090 is another chip.
    """
    sheet = DATASHEETS.get(_plain(name))
    return sheet.peaks(max_sm_mhz) if sheet else None


def megahertz(text: str) -> int | None:
    """Read the number in a clock that the driver reports, such as `1980 MHz`; None when it reports none."""
    number = text.strip().removesuffix(" MHz")
    return int(number) if number.isascii() and number.isdecimal() else None


def _plain(name: str) -> str:
    words = name.casefold().replace("-", " ").split()
    return " ".join(word for word in words if word not in ("nvidia", "tesla", "geforce"))


def _rates(**teraflops: float) -> dict[Unit, float]:
    return {unit: teraflops[unit] for unit in UNITS if unit in teraflops}


UNITS: tuple[Unit, ...] = ("float64", "float32", "tf32", "float16", "bfloat16", "fp8")

_VOLTA = "NVIDIA V100 datasheet (2020)"
_TURING = "NVIDIA T4 datasheet (2019)"
_AMPERE = "NVIDIA A100 datasheet (2021)"
_GA102 = "NVIDIA Ampere GA102 architecture whitepaper, appendix A"
_ADA = "NVIDIA Ada architecture whitepaper, appendix A"
_HOPPER = "NVIDIA H100 datasheet (2024) and Hopper architecture whitepaper"
_H200 = "NVIDIA H200 datasheet (2024)"
_BLACKWELL = "NVIDIA HGX B200 datasheet (2024)"
_GB202 = "NVIDIA RTX Blackwell architecture whitepaper, appendix A"

_V100_SXM2 = _rates(float64=7.8, float32=15.7, float16=125)
_V100_PCIE = _rates(float64=7.0, float32=14.1, float16=112)
_A100 = _rates(float64=19.5, float32=19.5, tf32=156, float16=312, bfloat16=312)
_H100_SXM = _rates(float64=67, float32=67, tf32=494.7, float16=989.4, bfloat16=989.4, fp8=1978.9)
_H100_NVL = _rates(float64=60, float32=60, tf32=417.5, float16=835.5, bfloat16=835.5, fp8=1671)

# Keys: what the driver says, in lower case, without hyphens, maker and brand.
DATASHEETS: dict[str, Datasheet] = {
    "v100 sxm2 16gb": Datasheet(_VOLTA, 900, 6, 1530, 1530, _V100_SXM2),
    "v100 sxm2 32gb": Datasheet(_VOLTA, 900, 6, 1530, 1530, _V100_SXM2),
    "v100 pcie 16gb": Datasheet(_VOLTA, 900, 6, 1380, 1380, _V100_PCIE),
    "v100 pcie 32gb": Datasheet(_VOLTA, 900, 6, 1380, 1380, _V100_PCIE),
    "t4": Datasheet(_TURING, 320, 4, 1590, 1590, _rates(float64=0.254, float32=8.1, float16=65)),
    "a100 sxm4 40gb": Datasheet(_AMPERE, 1555, 40, 1410, 1410, _A100),
    "a100 sxm4 80gb": Datasheet(_AMPERE, 2039, 40, 1410, 1410, _A100),
    "a100 pcie 40gb": Datasheet(_AMPERE, 1555, 40, 1410, 1410, _A100),
    "a100 80gb pcie": Datasheet(_AMPERE, 1935, 40, 1410, 1410, _A100),
    "a10": Datasheet(
        "NVIDIA A10 datasheet (2021)", 600, 6, 1695, 1695,
        _rates(float64=0.976, float32=31.2, tf32=62.5, float16=125, bfloat16=125),
    ),
    "rtx a6000": Datasheet(
        _GA102, 768, 6, 1800, 1800, _rates(float64=1.21, float32=38.7, tf32=77.4, float16=154.8, bfloat16=154.8)
    ),
    "rtx 3090": Datasheet(
        _GA102, 936.2, 6, 1695, 1695, _rates(float64=0.556, float32=35.6, tf32=35.6, float16=142.3, bfloat16=71.2)
    ),
    "l4": Datasheet(
        "NVIDIA L4 datasheet (2023)", 300, 48, 2040, 2040,
        _rates(float64=0.49, float32=30.3, tf32=60, float16=121, bfloat16=121, fp8=242.5),
    ),
    "l40s": Datasheet(
        "NVIDIA L40S datasheet (2023)", 864, 96, 2520, 2520,
        _rates(float64=1.43, float32=91.6, tf32=183, float16=362.05, bfloat16=362.05, fp8=733),
    ),
    "rtx 6000 ada generation": Datasheet(
        _ADA, 960, 96, 2505, 2505,
        _rates(float64=1.423, float32=91.1, tf32=182.1, float16=364.2, bfloat16=364.2, fp8=728.5),
    ),
    "rtx 4090": Datasheet(
        _ADA, 1008, 72, 2520, 2520,
        _rates(float64=1.29, float32=82.6, tf32=82.6, float16=330.3, bfloat16=165.2, fp8=660.6),
    ),
    "h100 80gb hbm3": Datasheet(_HOPPER, 3350, 50, 1980, 1830, _H100_SXM),
    "h100 pcie": Datasheet(
        _HOPPER, 2039, 50, 1755, 1620,
        _rates(float64=51, float32=51, tf32=378, float16=756.5, bfloat16=756.5, fp8=1513),
    ),
    "h100 nvl": Datasheet(_HOPPER, 3938, 50, 1785, 1545, _H100_NVL),
    "h200": Datasheet(_H200, 4800, 50, 1980, 1830, _H100_SXM),
    "h200 nvl": Datasheet(_H200, 4800, 50, 1785, 1545, _H100_NVL),
    "b200": Datasheet(
        _BLACKWELL, 8000, 126, 1965, 1856,
        _rates(float64=40, float32=80, tf32=1125, float16=2250, bfloat16=2250, fp8=4500),
    ),
    "rtx 5090": Datasheet(
        _GB202, 1792, 96, 2407, 2407,
        _rates(float64=1.64, float32=104.8, tf32=104.8, float16=419, bfloat16=209.5, fp8=838),
    ),
}  # fmt: skip
