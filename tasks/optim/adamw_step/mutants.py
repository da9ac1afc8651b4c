"""Variants of a step of AdamW: honest ones that must pass and wrong ones that must fail."""

import math
from typing import Any, NamedTuple

import torch

from robust_kbench.audit.emulated import tf32

Moments = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class _Step(NamedTuple):
    """The arguments, tensors in float32."""

    param: torch.Tensor
    grad: torch.Tensor
    avg: torch.Tensor
    sq: torch.Tensor
    lr: float
    beta1: float
    beta2: float
    eps: float
    decay: float
    number: int
    dtype: torch.dtype

    @property
    def corrections(self) -> tuple[float, float]:
        """Of the first moment, and the root of the second's."""
        return 1 - self.beta1**self.number, math.sqrt(1 - self.beta2**self.number)

    def moments(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The new ones."""
        avg = self.beta1 * self.avg + (1 - self.beta1) * self.grad
        return avg, self.beta2 * self.sq + (1 - self.beta2) * self.grad.square()

    def update(self, avg: torch.Tensor, sq: torch.Tensor) -> torch.Tensor:
        """What is subtracted, but for the rate."""
        first, second = self.corrections
        return (avg / first) / (sq.sqrt() / second + self.eps)

    def stored(self, param: torch.Tensor, avg: torch.Tensor, sq: torch.Tensor) -> Moments:
        """In the dtype of the case."""
        return param.to(self.dtype), avg.to(self.dtype), sq.to(self.dtype)

    def done(self) -> Moments:
        """The right answer."""
        avg, sq = self.moments()
        return self.stored((1 - self.lr * self.decay) * self.param - self.lr * self.update(avg, sq), avg, sq)


def _step(
    param: torch.Tensor,
    grad: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
) -> _Step:
    tensors = param.float(), grad.float(), exp_avg.float(), exp_avg_sq.float()
    return _Step(*tensors, lr, beta1, beta2, eps, weight_decay, step, param.dtype)


def in_float32(*arguments: Any) -> Moments:
    """Everything in float32, rounded once."""
    return _step(*arguments).done()


def by_differences(*arguments: Any) -> Moments:
    """Moments as m + (1 - b) (g - m), the decay taken from the parameter first, and one factor before the quotient."""
    s = _step(*arguments)
    avg = torch.lerp(s.avg, s.grad, 1 - s.beta1)
    sq = s.sq + (1 - s.beta2) * (s.grad.square() - s.sq)
    first, second = s.corrections
    decayed = s.param - s.lr * s.decay * s.param
    return s.stored(decayed - s.lr * second / first * avg / (sq.sqrt() + s.eps * second), avg, sq)


def by_inverse_root(*arguments: Any) -> Moments:
    """The corrected second moment first, its root as v / sqrt(v), and the quotient as a product with a reciprocal."""
    s = _step(*arguments)
    avg, sq = s.moments()
    first, second = s.corrections
    corrected = sq * (1 / (second * second))
    reciprocal = 1 / (corrected * torch.rsqrt(corrected) + s.eps)
    return s.stored(s.param - s.lr * (s.decay * s.param + avg * (1 / first) * reciprocal), avg, sq)


def fused(*arguments: Any) -> Moments:
    """With fused multiply-adds: of two products only one is rounded to float32."""
    s = _step(*arguments)
    avg = (s.beta1 * s.avg.double() + ((1 - s.beta1) * s.grad).double()).float()
    sq = ((1 - s.beta2) * s.grad.double().square() + (s.beta2 * s.sq).double()).float()
    change = (s.lr * s.update(avg, sq)).double()
    return s.stored(((1 - s.lr * s.decay) * s.param.double() - change).float(), avg, sq)


def from_the_stored_moments(*arguments: Any) -> Moments:
    """The new moments are stored first and read again, rounded."""
    s = _step(*arguments)
    avg, sq = (moment.to(s.dtype).float() for moment in s.moments())
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * s.update(avg, sq), avg, sq)


def coupled_decay(*arguments: Any) -> Moments:
    """Adam with a penalty: the decay is added to the gradient."""
    s = _step(*arguments)
    return s._replace(grad=s.grad + s.decay * s.param, decay=0.0).done()


def decay_without_rate(*arguments: Any) -> Moments:
    """The decay is not multiplied by the rate."""
    s = _step(*arguments)
    return s._replace(decay=s.decay / s.lr).done()


def no_decay(*arguments: Any) -> Moments:
    """The parameter does not decay."""
    return _step(*arguments)._replace(decay=0.0).done()


def decay_after_the_step(*arguments: Any) -> Moments:
    """The parameter decays after it was updated, and the update with it."""
    s = _step(*arguments)
    avg, sq = s.moments()
    return s.stored((1 - s.lr * s.decay) * (s.param - s.lr * s.update(avg, sq)), avg, sq)


def not_corrected(*arguments: Any) -> Moments:
    """The moments are not corrected for their start at zero."""
    s = _step(*arguments)
    avg, sq = s.moments()
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * avg / (sq.sqrt() + s.eps), avg, sq)


def step_from_zero(*arguments: Any) -> Moments:
    """Corrected for the next step."""
    s = _step(*arguments)
    return s._replace(number=s.number + 1).done()


def second_correction_without_root(*arguments: Any) -> Moments:
    """The root of the second moment is divided by its correction instead of the root of that."""
    s = _step(*arguments)
    avg, sq = s.moments()
    first, second = s.corrections
    update = (avg / first) / (sq.sqrt() / second**2 + s.eps)
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * update, avg, sq)


def eps_in_the_root(*arguments: Any) -> Moments:
    """Epsilon is added under the root."""
    s = _step(*arguments)
    avg, sq = s.moments()
    first, second = s.corrections
    update = (avg / first) / (sq / second**2 + s.eps).sqrt()
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * update, avg, sq)


def eps_before_the_correction(*arguments: Any) -> Moments:
    """Epsilon is added to the root before that is corrected, as in the first version of TensorFlow's Adam."""
    s = _step(*arguments)
    _, second = s.corrections
    return s._replace(eps=s.eps / second).done()


def old_moments(*arguments: Any) -> Moments:
    """The update is made from the moments as they were."""
    s = _step(*arguments)
    avg, sq = s.moments()
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * s.update(s.avg, s.sq), avg, sq)


def gradient_in_the_update(*arguments: Any) -> Moments:
    """RMSprop: the gradient in place of the first moment."""
    s = _step(*arguments)
    avg, sq = s.moments()
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * s.update(s.grad, sq), avg, sq)


def gradient_not_weighted(*arguments: Any) -> Moments:
    """Momentum without dampening: the gradient enters the first moment whole."""
    s = _step(*arguments)
    _, sq = s.moments()
    avg = s.beta1 * s.avg + s.grad
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * s.update(avg, sq), avg, sq)


def gradient_not_squared(*arguments: Any) -> Moments:
    """The magnitude of the gradient enters the second moment."""
    s = _step(*arguments)
    avg, _ = s.moments()
    sq = s.beta2 * s.sq + (1 - s.beta2) * s.grad.abs()
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * s.update(avg, sq), avg, sq)


def betas_exchanged(*arguments: Any) -> Moments:
    """The betas change places."""
    s = _step(*arguments)
    return s._replace(beta1=s.beta2, beta2=s.beta1).done()


def maximised(*arguments: Any) -> Moments:
    """The update is added."""
    s = _step(*arguments)
    avg, sq = s.moments()
    return s.stored((1 - s.lr * s.decay) * s.param + s.lr * s.update(avg, sq), avg, sq)


def moments_not_stored(*arguments: Any) -> Moments:
    """The moments are handed on as they came."""
    s = _step(*arguments)
    return s.stored(s.done()[0].float(), s.avg, s.sq)


def tail_not_updated(*arguments: Any) -> Moments:
    """Columns behind the last whole vector of four keep their parameters."""
    param, avg, sq = in_float32(*arguments)
    whole = param.shape[1] // 4 * 4
    param[:, whole:] = arguments[0][:, whole:]
    return param, avg, sq


def corrections_in_float32(*arguments: Any) -> Moments:
    """float32: 1 - b and 1 - b^step are taken in float32, of betas in float32."""
    s = _step(*arguments)
    one, two = torch.tensor(s.beta1, dtype=torch.float32), torch.tensor(s.beta2, dtype=torch.float32)
    avg, sq = one * s.avg + (1 - one) * s.grad, two * s.sq + (1 - two) * s.grad.square()
    update = avg / (1 - one**s.number) / ((sq / (1 - two**s.number)).sqrt() + s.eps)
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * update, avg, sq)


def moments_in_bfloat16(*arguments: Any) -> Moments:
    """The new moments pass through bfloat16 before they are used."""
    s = _step(*arguments)
    avg, sq = (moment.bfloat16().float() for moment in s.moments())
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * s.update(avg, sq), avg, sq)


def coarse_quotient(*arguments: Any) -> Moments:
    """float32: the update has ten bits, as of a vector unit without a step of Newton's method."""
    s = _step(*arguments)
    avg, sq = s.moments()
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * tf32(s.update(avg, sq)), avg, sq)


moments_in_bfloat16.dtypes = ("float32", "float16")
corrections_in_float32.dtypes = coarse_quotient.dtypes = ("float32",)


def not_corrected_from_step_1024(*arguments: Any) -> Moments:
    """Late steps are taken for so late that no correction is left."""
    s = _step(*arguments)
    return s._replace(number=10**9 if s.number >= 1024 else s.number).done()


HONEST = (in_float32, by_differences, by_inverse_root, fused, from_the_stored_moments)
MUTANTS = (
    coupled_decay, decay_without_rate, no_decay, decay_after_the_step, not_corrected, step_from_zero,
    second_correction_without_root, eps_in_the_root, eps_before_the_correction, old_moments, gradient_in_the_update,
    gradient_not_weighted, gradient_not_squared, betas_exchanged, maximised, moments_not_stored, tail_not_updated,
    corrections_in_float32, moments_in_bfloat16, coarse_quotient,
    not_corrected_from_step_1024,
)  # fmt: skip
EXEMPT = {
    "step_usual": {
        dtype: "Beyond step 100,000 no correction differs from one by as much as a half rounds."
        for dtype in ("float16", "bfloat16")
    }
}
