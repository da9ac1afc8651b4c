"""Variants of luma: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32
from robust_kbench.audit.truncation import truncated

WEIGHTS = (0.299, 0.587, 0.114)


def _mixed(x: torch.Tensor, weights: tuple[float, float, float] = WEIGHTS) -> torch.Tensor:
    """In float32."""
    red, green, blue = x.float().unbind(1)
    return weights[0] * red + weights[1] * green + weights[2] * blue


def in_float32(x: torch.Tensor) -> torch.Tensor:
    """Three products in float32, added in their order."""
    return _mixed(x).to(x.dtype)


def blue_first(x: torch.Tensor) -> torch.Tensor:
    """The sum begins with the blue, and two of the products are not rounded: fused multiply-adds."""
    red, green, blue = x.double().unbind(1)
    weights = torch.tensor(WEIGHTS).double().tolist()
    sums = ((weights[2] * blue).float().double() + weights[1] * green).float()
    return (sums.double() + weights[0] * red).float().to(x.dtype)


def as_a_product(x: torch.Tensor) -> torch.Tensor:
    """A vector times a matrix in float32."""
    return torch.einsum("bchw,c->bhw", x.float(), torch.tensor(WEIGHTS)).to(x.dtype)


def truncating_store(x: torch.Tensor) -> torch.Tensor:
    """Halves: the float32 sum loses its low bits on the way out."""
    return truncated(_mixed(x), x.dtype)


def of_bt709(x: torch.Tensor) -> torch.Tensor:
    """The weights of BT.709, for high definition."""
    return _mixed(x, (0.2126, 0.7152, 0.0722)).to(x.dtype)


def of_four_digits(x: torch.Tensor) -> torch.Tensor:
    """A red of 0.2989, as many programs have it."""
    return _mixed(x, (0.2989, 0.587, 0.114)).to(x.dtype)


def of_eight_bits(x: torch.Tensor) -> torch.Tensor:
    """Weights in 256ths, as of an integer kernel."""
    return _mixed(x, (77 / 256, 150 / 256, 29 / 256)).to(x.dtype)


def average(x: torch.Tensor) -> torch.Tensor:
    """The mean of the three."""
    return x.float().mean(1).to(x.dtype)


def blue_green_red(x: torch.Tensor) -> torch.Tensor:
    """Channels are taken to come in the other order."""
    return _mixed(x.flip(1)).to(x.dtype)


def interleaved(x: torch.Tensor) -> torch.Tensor:
    """The three numbers of a pixel are taken to stand side by side; a lone pixel's in another order."""
    pixels = x.contiguous().reshape(x.shape[0], *x.shape[2:], 3).movedim(-1, 1)
    return _mixed(pixels if x.shape[2:].numel() > 1 else x.roll(1, 1)).to(x.dtype)


def green_alone(x: torch.Tensor) -> torch.Tensor:
    """The green channel, which is most of it."""
    return x[:, 1].contiguous()


def no_blue(x: torch.Tensor) -> torch.Tensor:
    """The blue channel is left out."""
    return _mixed(x, (0.299, 0.587, 0.0)).to(x.dtype)


def positive(x: torch.Tensor) -> torch.Tensor:
    """Negative sums become zero."""
    return _mixed(x).clamp(min=0).to(x.dtype)


def brightest(x: torch.Tensor) -> torch.Tensor:
    """The largest of the three."""
    return x.amax(1)


def tail_of_the_red(x: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four are the red channel's."""
    y = in_float32(x)
    whole = x.shape[3] // 4 * 4
    y[..., whole:] = x[:, 0, :, whole:]
    return y


def blue_of_the_first_image(x: torch.Tensor) -> torch.Tensor:
    """The last image takes the first one's blue; a single one its own green."""
    blue = x[:, 2].clone()
    blue[-1:] = x[:1, 2] if len(x) > 1 else x[:1, 1]
    return _mixed(torch.stack((x[:, 0], x[:, 1], blue), 1)).to(x.dtype)


def weights_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    red, green, blue = torch.tensor(WEIGHTS).bfloat16().float().tolist()
    return _mixed(x, (red, green, blue)).to(x.dtype)


def sums_in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    """Every partial sum is rounded to bfloat16."""
    red, green, blue = x.float().unbind(1)
    sums = (WEIGHTS[0] * red + WEIGHTS[1] * green).bfloat16().float()
    return (sums + WEIGHTS[2] * blue).to(x.dtype)


def tf32_factors(x: torch.Tensor) -> torch.Tensor:
    """float32: pixels pass through a TF32 unit, as when the sum is a product with weights."""
    return _mixed(tf32(x))


tf32_factors.dtypes = ("float32",)
of_four_digits.dtypes = ("float32",)
of_eight_bits.dtypes = weights_in_bfloat16.dtypes = sums_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (in_float32, blue_first, as_a_product, truncating_store)
MUTANTS = (
    of_bt709, of_four_digits, of_eight_bits, average, blue_green_red, interleaved, green_alone, no_blue, positive,
    brightest, tail_of_the_red, blue_of_the_first_image, weights_in_bfloat16, sums_in_bfloat16, tf32_factors,
)  # fmt: skip
