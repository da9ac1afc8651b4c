"""Conversion to MXFP8: blocks of 32 values share a power of two, each value is an E4M3 number (Rouhani et al. 2023).

With 2^k the largest power of two up to a block's largest magnitude, its scale is 2^(k - 8), or 2^-127 if that is more
or if all are zero. Values over the scale are rounded to the nearest E4M3 number, ties to even, and beyond 448 to 448.
"""

import torch

_BLOCK, _LARGEST, _EXPONENT = 32, 448.0, 8  # 448 lies between 2^8 and 2^9


def _power(exponent: torch.Tensor) -> torch.Tensor:
    """2^exponent, from -127 (which float32 has as a subnormal number) to 127."""
    return torch.where(exponent == -127, 2.0**-127, ((exponent + 127) << 23).view(torch.float32))


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x: [rows, cols] -> codes: [rows, cols] uint8, the bits of E4M3 with the sign first, also that of a zero.

    scale: [rows, ceil(cols / 32)] float32. The last block of a row may be shorter.
    """
    rows, cols = x.shape
    blocks = -(-cols // _BLOCK)
    wide = torch.nn.functional.pad(x.float(), (0, blocks * _BLOCK - cols)).reshape(rows, blocks, _BLOCK)
    mantissa, exponent = torch.frexp(wide.abs().amax(-1, keepdim=True))  # mantissa from 1/2 on
    exponent = torch.where(mantissa == 0, -127, (exponent - 1 - _EXPONENT).clamp(min=-127))
    scaled = (wide * _power(-exponent)).clamp(-_LARGEST, _LARGEST)
    codes = scaled.to(torch.float8_e4m3fn).view(torch.uint8).reshape(rows, blocks * _BLOCK)[:, :cols]
    return codes.contiguous(), _power(exponent).squeeze(-1)
