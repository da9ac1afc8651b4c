"""Variants of the gradient of the gated swish: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import tf32

LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453
Pair = tuple[torch.Tensor, torch.Tensor]


def _sigmoid(x: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + torch.exp(-x.float()))


def _gradients(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor, s: torch.Tensor) -> Pair:
    """With the float32 sigmoid `s` of the gate."""
    x, g = gate.float(), grad_y.float()
    grad_gate = g * up.float() * (s * (1 + x * (1 - s)))
    return grad_gate.to(gate.dtype), (g * (x * s)).to(gate.dtype)


def one_sigmoid(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The formula in float32, with 1 / (1 + exp(-gate))."""
    return _gradients(grad_y, gate, up, _sigmoid(gate))


def through_the_swish(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The derivative as s + swish * (1 - s), with the swish that the other gradient has."""
    s = torch.sigmoid(gate.float())
    swish = gate.float() * s
    derivative = s + swish * (1 - s)
    return (grad_y.float() * derivative * up.float()).to(gate.dtype), (grad_y.float() * swish).to(gate.dtype)


def small_exponentials(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """Of exp(-|gate|) only, so that nothing overflows, and 1 - s without a subtraction."""
    x, g = gate.float(), grad_y.float()
    e = torch.exp(-x.abs())
    s = torch.where(x > 0, 1.0, e) / (1 + e)
    opposite = torch.where(x > 0, e, 1.0) / (1 + e)
    return (g * up.float() * s * (1 + x * opposite)).to(gate.dtype), (g * (x * s)).to(gate.dtype)


def powers_of_two(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The exponential as 2^t with t = -gate log2(e); what rounding t has cost is put back by a factor."""
    t = gate.float() * -LOG2_E
    lost = (gate.double() * -LOG2_E - t.double()).float()
    return _gradients(grad_y, gate, up, 1 / (1 + torch.exp2(t) * (1 + lost * LN_2)))


def exchanged(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The two results in the other order."""
    grad_gate, grad_up = one_sigmoid(grad_y, gate, up)
    return grad_up, grad_gate


def inputs_exchanged(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The gate is taken for what is gated."""
    grad_up, grad_gate = one_sigmoid(grad_y, up, gate)
    return grad_gate, grad_up


def sigmoid_alone(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The derivative of swish without its second term."""
    _, grad_up = one_sigmoid(grad_y, gate, up)
    return (grad_y.float() * up.float() * _sigmoid(gate)).to(gate.dtype), grad_up


def derivative_of_the_sigmoid(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The derivative of a plain GLU, s (1 - s)."""
    s = _sigmoid(gate)
    _, grad_up = one_sigmoid(grad_y, gate, up)
    return (grad_y.float() * up.float() * s * (1 - s)).to(gate.dtype), grad_up


def sign_of_the_second_term(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The factor 1 - gate (1 - s)."""
    s = _sigmoid(gate)
    _, grad_up = one_sigmoid(grad_y, gate, up)
    return (grad_y.float() * up.float() * s * (1 - gate.float() * (1 - s))).to(gate.dtype), grad_up


def sigmoid_for_its_complement(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The factor 1 + gate s."""
    s = _sigmoid(gate)
    _, grad_up = one_sigmoid(grad_y, gate, up)
    return (grad_y.float() * up.float() * s * (1 + gate.float() * s)).to(gate.dtype), grad_up


def not_times_up(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The gate's gradient lacks the factor up."""
    return one_sigmoid(grad_y, gate, torch.ones_like(up))


def not_times_the_gate(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The other gradient is that of a plain GLU, with the sigmoid alone."""
    grad_gate, _ = one_sigmoid(grad_y, gate, up)
    return grad_gate, (grad_y.float() * _sigmoid(gate)).to(gate.dtype)


def derivative_for_both(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The other gradient, too, has the derivative of swish."""
    grad_gate, _ = one_sigmoid(grad_y, gate, up)
    grad_up, _ = one_sigmoid(grad_y, gate, torch.ones_like(up))
    return grad_gate, grad_up


def sharper(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The sigmoid of 1.702 times the gate."""
    return _gradients(grad_y, gate, up, torch.sigmoid(1.702 * gate.float()))


def cut_off(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The sigmoid is zero below minus six."""
    return _gradients(grad_y, gate, up, torch.where(gate < -6, 0.0, _sigmoid(gate)))


def of_the_magnitude(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The sigmoid of |gate|."""
    return _gradients(grad_y, gate, up, _sigmoid(gate.abs()))


def sigmoid_in_bfloat16(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The sigmoid is kept in bfloat16."""
    return _gradients(grad_y, gate, up, _sigmoid(gate).bfloat16().float())


def coarse_reciprocal(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """float32: the reciprocal has ten bits, as of a vector unit without a step of Newton's method."""
    return _gradients(grad_y, gate, up, tf32(_sigmoid(gate)))


def tf32_gradient(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """float32: the upstream gradient passes through TF32."""
    return one_sigmoid(tf32(grad_y), gate, up)


def up_of_the_next_column(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The input that is gated is read one column too far."""
    return one_sigmoid(grad_y, gate, up.roll(-1, -1))


def last_row_of_another(grad_y: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Pair:
    """The last row's sigmoid is the first row's."""
    s = _sigmoid(gate)
    s[-1:] = s[:1]
    return _gradients(grad_y, gate, up, s)


coarse_reciprocal.dtypes = tf32_gradient.dtypes = ("float32",)
sigmoid_in_bfloat16.dtypes = ("float32", "float16")

HONEST = (one_sigmoid, through_the_swish, small_exponentials, powers_of_two)
MUTANTS = (
    exchanged,
    inputs_exchanged,
    sigmoid_alone,
    derivative_of_the_sigmoid,
    sign_of_the_second_term,
    sigmoid_for_its_complement,
    not_times_up,
    not_times_the_gate,
    derivative_for_both,
    sharper,
    cut_off,
    of_the_magnitude,
    sigmoid_in_bfloat16,
    coarse_reciprocal,
    tf32_gradient,
    up_of_the_next_column,
    last_row_of_another,
)
