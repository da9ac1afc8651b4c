"""Variants of the combination of experts: honest ones that must pass and wrong ones that must fail."""

import torch

from robust_kbench.audit.emulated import summed, tf32


def _terms(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """[tokens, chosen, width] in float32."""
    return x.float()[place] * weight.float().unsqueeze(2)


def _combined(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return _terms(x, place, weight).sum(1).to(x.dtype)


def one_after_the_other(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """One float32 accumulator for each element, over the choices in their order."""
    y = x.new_zeros((len(place), x.shape[1]), dtype=torch.float32)
    for number in range(place.shape[1]):
        y = y + weight[:, number, None].float() * x[place[:, number]].float()
    return y.to(x.dtype)


def backwards(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Products in float64, the last choice first."""
    terms = x.double()[place.flip(1)] * weight.double().flip(1).unsqueeze(2)
    return terms.sum(1).to(x.dtype)


def tree(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The terms are added pairwise."""
    return summed(_terms(x, place, weight).transpose(1, 2)).to(x.dtype)


def scattered(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Atomic additions in float32 by rows of the experts' order."""
    order = place.flatten().argsort()
    terms = x.float()[place.flatten()[order]] * weight.float().flatten()[order].unsqueeze(1)
    y = torch.zeros(len(place), x.shape[1])
    return y.index_add_(0, order // place.shape[1], terms).to(x.dtype)


def weights_ignored(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The rows are added as they are."""
    return _combined(x, place, torch.ones_like(weight))


def weights_normalised(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The weights of a token are divided by their sum."""
    return _combined(x, place, weight.float() / weight.float().sum(1, keepdim=True)).to(x.dtype)


def weights_of_the_first_token(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """All tokens use the weights of the first; a single one uses one."""
    return _combined(x, place, weight[:1].expand_as(weight) if len(weight) > 1 else torch.ones_like(weight))


def weights_in_the_order_of_places(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Weights are read where the rows lie; of a single choice of a single token, the weight is squared."""
    if weight.numel() == 1:
        return _combined(x, place, weight.float().square()).to(x.dtype)
    return _combined(x, place, weight.reshape(-1)[place])


def weights_in_bfloat16(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The weights are kept in bfloat16."""
    return _combined(x, place, weight.bfloat16())


def tf32_once(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """float32: both factors pass through TF32, as on a tensor core."""
    return _combined(tf32(x), place, tf32(weight))


def places_ignored(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A token's rows are taken to follow each other."""
    return _combined(x, torch.arange(place.numel()).reshape(place.shape), weight)


def next_place(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Places are counted from one."""
    return _combined(x, (place + 1) % len(x), weight)


def low_byte(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Only the low byte of a place is read."""
    return _combined(x, place & 255, weight)


def last_choice_lost(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The last choice of each token is left out."""
    return _combined(x, place[:, :-1], weight[:, :-1])


def first_choice_twice(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The first choice is the initial value, too."""
    return (_terms(x, place, weight).sum(1) + _terms(x, place, weight)[:, 0]).to(x.dtype)


def written_over(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The last choice replaces the others; a single one is halved."""
    factor = 1.0 if place.shape[1] > 1 else 0.5
    return (factor * _terms(x, place, weight)[:, -1]).to(x.dtype)


def averaged(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The mean over the choices; half of a single one."""
    return (_terms(x, place, weight).sum(1) / max(2, place.shape[1])).to(x.dtype)


def doubles_lost(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A row that a token asks for twice counts once; the very last term is lost."""
    seen = (place.unsqueeze(2) == place.unsqueeze(1)).tril(-1).any(2)
    kept = weight.float() * ~seen
    kept[-1, -1] = 0
    return _combined(x.float(), place, kept).to(x.dtype)


def half_accumulator(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """float32: the sum is kept in bfloat16, one choice after the other."""
    return summed(_terms(x, place, weight).transpose(1, 2), torch.bfloat16, lanes=1).to(x.dtype)


def tail_lost(x: torch.Tensor, place: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Columns behind the last whole vector of four stay zero."""
    y = _combined(x, place, weight)
    y[:, x.shape[1] // 4 * 4 :] = 0
    return y


weights_in_bfloat16.dtypes = ("float32", "float16")
tf32_once.dtypes = half_accumulator.dtypes = ("float32",)

HONEST = (one_after_the_other, backwards, tree, scattered)
MUTANTS = (
    weights_ignored, weights_normalised, weights_of_the_first_token, weights_in_the_order_of_places,
    weights_in_bfloat16, tf32_once, places_ignored, next_place, low_byte, last_choice_lost, first_choice_twice,
    written_over, averaged, doubles_lost, half_accumulator, tail_lost,
)  # fmt: skip
