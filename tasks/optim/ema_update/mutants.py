"""Variants of a moving average's update: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32


def _mixed(average: torch.Tensor, param: torch.Tensor, kept: float, new: float) -> torch.Tensor:
    return (kept * average.float() + new * param.float()).to(average.dtype)


def in_float32(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """Two products and a sum in float32, rounded once."""
    return _mixed(average, param, decay, 1 - decay)


def fused(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """A fused multiply-add: one of the products is not rounded to float32."""
    product = (decay * average.float()).double()
    return (product + (1 - decay) * param.double()).float().to(average.dtype)


def in_float64(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """Differences in float64: a + (1 - decay) (p - a), rounded once."""
    wide = average.double()
    return (wide + (1 - decay) * (param.double() - wide)).to(average.dtype)


def exchanged(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The decay is the share of what is new."""
    return _mixed(average, param, 1 - decay, decay)


def not_weighted(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The parameter enters whole, as into a momentum."""
    return _mixed(average, param, decay, 1.0)


def average_not_decayed(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The average is kept whole."""
    return _mixed(average, param, 1.0, 1 - decay)


def subtracted(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The difference has the wrong sign."""
    return _mixed(average, param, 2 - decay, decay - 1)


def squared_decay(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The average decays twice."""
    return _mixed(average, param, decay * decay, 1 - decay)


def of_the_second_moment(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The parameter is squared on its way."""
    return (decay * average.float() + (1 - decay) * param.float().square()).to(average.dtype)


def of_magnitudes(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The parameter's sign is lost."""
    return _mixed(average, param.abs(), decay, 1 - decay)


def usual_decay(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The decay is 0.999, whatever was asked for."""
    return _mixed(average, param, 0.999, 0.001)


def tail_not_updated(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """Columns behind the last whole vector of four stay as they were."""
    y = in_float32(average, param, decay)
    whole = y.shape[1] // 4 * 4
    y[:, whole:] = average[:, whole:]
    return y


def last_row_not_updated(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The last row stays as it was."""
    y = in_float32(average, param, decay)
    y[-1:] = average[-1:]
    return y


def parameter_of_the_next_row(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """Rows of the parameter are one too far; of a single row, elements."""
    return _mixed(average, param.roll(1, 0 if len(param) > 1 else 1), decay, 1 - decay)


def decay_in_bfloat16(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The decay is rounded to bfloat16, and 1 - decay is taken of that."""
    rounded = float(torch.tensor(decay).bfloat16())
    return _mixed(average, param, rounded, 1 - rounded)


def parameter_in_bfloat16(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """The parameter passes through bfloat16."""
    return _mixed(average, param.bfloat16(), decay, 1 - decay)


def tf32_average(average: torch.Tensor, param: torch.Tensor, decay: float) -> torch.Tensor:
    """float32: the average passes through a TF32 unit."""
    return _mixed(tf32(average), param, decay, 1 - decay)


decay_in_bfloat16.dtypes = parameter_in_bfloat16.dtypes = ("float32", "float16")
tf32_average.dtypes = ("float32",)

HONEST = (in_float32, fused, in_float64)
MUTANTS = (
    exchanged, not_weighted, average_not_decayed, subtracted, squared_decay, of_the_second_moment, of_magnitudes,
    usual_decay, tail_not_updated, last_row_not_updated, parameter_of_the_next_row, decay_in_bfloat16,
    parameter_in_bfloat16, tf32_average,
)  # fmt: skip
