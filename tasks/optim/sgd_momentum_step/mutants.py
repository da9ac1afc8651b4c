"""Variants of a step of gradient descent with momentum: honest ones that must pass and wrong ones that must fail."""

from typing import Any, NamedTuple

import torch

from robust_kbench.audit.emulated import tf32

Pair = tuple[torch.Tensor, torch.Tensor]


class _Step(NamedTuple):
    """The arguments, tensors in float32."""

    param: torch.Tensor
    grad: torch.Tensor
    buffer: torch.Tensor
    lr: float
    momentum: float
    decay: float
    dtype: torch.dtype

    def moved(self) -> torch.Tensor:
        """The new buffer."""
        return self.momentum * self.buffer + (self.grad + self.decay * self.param)

    def stored(self, param: torch.Tensor, buffer: torch.Tensor) -> Pair:
        """In the dtype of the case."""
        return param.to(self.dtype), buffer.to(self.dtype)

    def done(self) -> Pair:
        """The right answer."""
        buffer = self.moved()
        return self.stored(self.param - self.lr * buffer, buffer)


def _step(
    param: torch.Tensor,
    grad: torch.Tensor,
    momentum_buffer: torch.Tensor,
    lr: float,
    momentum: float,
    weight_decay: float,
) -> _Step:
    return _Step(param.float(), grad.float(), momentum_buffer.float(), lr, momentum, weight_decay, param.dtype)


def in_float32(*arguments: Any) -> Pair:
    """Everything in float32, rounded once."""
    return _step(*arguments).done()


def from_the_stored_buffer(*arguments: Any) -> Pair:
    """The new buffer is stored first and read again, rounded."""
    s = _step(*arguments)
    buffer = s.moved().to(s.dtype)
    return s.stored(s.param - s.lr * buffer.float(), buffer)


def fused(*arguments: Any) -> Pair:
    """With fused multiply-adds: only sums are rounded to float32."""
    s = _step(*arguments)
    decayed = (s.grad.double() + s.decay * s.param.double()).float()
    buffer = (s.momentum * s.buffer.double() + decayed.double()).float()
    return s.stored((s.param.double() - s.lr * buffer.double()).float(), buffer)


def decay_last(*arguments: Any) -> Pair:
    """The gradient is added to the buffer before the decay is."""
    s = _step(*arguments)
    buffer = (s.grad + s.momentum * s.buffer) + s.decay * s.param
    return s.stored(s.param + -s.lr * buffer, buffer)


def no_decay(*arguments: Any) -> Pair:
    """The weights do not decay."""
    return _step(*arguments)._replace(decay=0.0).done()


def decoupled_decay(*arguments: Any) -> Pair:
    """The decay acts on the parameter alone and does not enter the buffer."""
    s = _step(*arguments)
    buffer = s.momentum * s.buffer + s.grad
    return s.stored((1 - s.lr * s.decay) * s.param - s.lr * buffer, buffer)


def nesterov(*arguments: Any) -> Pair:
    """Nesterov's step: the parameter looks one momentum ahead."""
    s = _step(*arguments)
    buffer = s.moved()
    return s.stored(s.param - s.lr * (s.grad + s.decay * s.param + s.momentum * buffer), buffer)


def dampened(*arguments: Any) -> Pair:
    """The gradient is multiplied by one minus the momentum, as in a running mean."""
    s = _step(*arguments)
    buffer = s.momentum * s.buffer + (1 - s.momentum) * (s.grad + s.decay * s.param)
    return s.stored(s.param - s.lr * buffer, buffer)


def rate_in_the_buffer(*arguments: Any) -> Pair:
    """The rate is kept in the buffer, as in the original paper."""
    s = _step(*arguments)
    buffer = s.momentum * s.buffer + s.lr * (s.grad + s.decay * s.param)
    return s.stored(s.param - buffer, buffer)


def no_momentum(*arguments: Any) -> Pair:
    """The buffer is taken for empty, as in the first step."""
    s = _step(*arguments)
    return s._replace(momentum=0.0).done()


def momentum_one(*arguments: Any) -> Pair:
    """The buffer does not fade."""
    return _step(*arguments)._replace(momentum=1.0).done()


def old_buffer(*arguments: Any) -> Pair:
    """The parameter is updated from the buffer as it was."""
    s = _step(*arguments)
    return s.stored(s.param - s.lr * s.buffer, s.moved())


def gradient_in_the_update(*arguments: Any) -> Pair:
    """The parameter is updated from the gradient, and the momentum lost."""
    s = _step(*arguments)
    return s.stored(s.param - s.lr * (s.grad + s.decay * s.param), s.moved())


def buffer_not_stored(*arguments: Any) -> Pair:
    """The buffer is handed on as it came."""
    s = _step(*arguments)
    return s.stored(s.done()[0].float(), s.buffer)


def maximised(*arguments: Any) -> Pair:
    """The update is added."""
    s = _step(*arguments)
    return s._replace(lr=-s.lr).done()


def decay_of_the_new_parameter(*arguments: Any) -> Pair:
    """In place and in the wrong order: the decay is of the parameter after a first update."""
    s = _step(*arguments)
    buffer = s.momentum * s.buffer + s.grad
    return s.stored((1 - s.lr * s.decay) * (s.param - s.lr * buffer), s.moved())


def tail_not_updated(*arguments: Any) -> Pair:
    """Columns behind the last whole vector of four keep their parameters."""
    param, buffer = in_float32(*arguments)
    whole = param.shape[1] // 4 * 4
    param[:, whole:] = arguments[0][:, whole:]
    return param, buffer


def last_row_without_momentum(*arguments: Any) -> Pair:
    """The buffer of the last row is taken for zero."""
    s = _step(*arguments)
    s.buffer[-1:] = 0
    return s.done()


def buffer_in_bfloat16(*arguments: Any) -> Pair:
    """The buffer is kept in bfloat16."""
    s = _step(*arguments)
    return s._replace(buffer=s.buffer.bfloat16().float()).done()


def rate_in_bfloat16(*arguments: Any) -> Pair:
    """The rate is rounded to bfloat16."""
    s = _step(*arguments)
    return s._replace(lr=float(torch.tensor(s.lr).bfloat16())).done()


def tf32_gradient(*arguments: Any) -> Pair:
    """float32: the gradient passes through a TF32 unit."""
    s = _step(*arguments)
    return s._replace(grad=tf32(s.grad)).done()


buffer_in_bfloat16.dtypes = rate_in_bfloat16.dtypes = ("float32", "float16")
tf32_gradient.dtypes = ("float32",)

HONEST = (in_float32, from_the_stored_buffer, fused, decay_last)
MUTANTS = (
    no_decay, decoupled_decay, nesterov, dampened, rate_in_the_buffer, no_momentum, momentum_one, old_buffer,
    gradient_in_the_update, buffer_not_stored, maximised, decay_of_the_new_parameter, tail_not_updated,
    last_row_without_momentum, buffer_in_bfloat16, rate_in_bfloat16, tf32_gradient,
)  # fmt: skip
