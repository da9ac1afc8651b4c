"""Variants of drawing a class: honest ones that must pass and wrong ones that must fail."""

import torch


def _uniform(shape: torch.Size | tuple[int, ...], seed: int) -> torch.Tensor:
    drawn = torch.rand(shape, generator=torch.Generator().manual_seed(seed + 1000), dtype=torch.float64)
    return drawn.clamp(1e-12, 1 - 1e-12)


def _gumbel(shape: torch.Size | tuple[int, ...], seed: int) -> torch.Tensor:
    return -torch.log(-torch.log(_uniform(shape, seed))).float()


def other_numbers(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The same trick with other random numbers."""
    return (logits.float() + _gumbel(logits.shape, seed)).argmax(-1)


def exponential_race(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The class whose exponential clock of rate p rings first."""
    clocks = -torch.log(_uniform(logits.shape, seed)).float()
    return (torch.softmax(logits.float(), -1) / clocks).argmax(-1)


def inverse_distribution(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """One uniform number for each row, looked up in the running sum of its probabilities."""
    running = torch.softmax(logits.float(), -1).double().cumsum(-1)
    drawn = _uniform((len(logits), 1), seed) * running[:, -1:]
    return torch.searchsorted(running, drawn, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)


def likeliest(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """No noise."""
    return logits.argmax(-1)


def uniform_class(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The logits are not looked at."""
    return (_uniform((len(logits),), seed) * logits.shape[-1]).long()


def uniform_noise(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Uniform noise."""
    return (logits.float() + _uniform(logits.shape, seed).float()).argmax(-1)


def one_logarithm(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Exponential noise: the outer logarithm is missing."""
    return (logits.float() - torch.log(_uniform(logits.shape, seed)).float()).argmax(-1)


def normal_noise(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Normal noise."""
    return (logits.float() + torch.special.ndtri(_uniform(logits.shape, seed)).float()).argmax(-1)


def wrong_sign(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The noise is subtracted."""
    return (logits.float() - _gumbel(logits.shape, seed)).argmax(-1)


def base_two(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Logarithms of base two."""
    return (logits.float() - torch.log2(-torch.log2(_uniform(logits.shape, seed))).float()).argmax(-1)


def cooler(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Temperature 0.8."""
    return (logits.float() / 0.8 + _gumbel(logits.shape, seed)).argmax(-1)


def one_noise_for_all_rows(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The class alone decides its noise."""
    return (logits.float() + _gumbel((1, logits.shape[-1]), seed)).argmax(-1)


def one_noise_for_all_classes(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The row alone decides its noise."""
    return (logits.float() + _gumbel((len(logits), 1), seed)).argmax(-1)


def last_class_never(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The last class has no part."""
    return other_numbers(logits[:, :-1], seed)


def top_two(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """One of the two likeliest classes."""
    values, places = logits.float().topk(2, -1)
    return places.gather(-1, other_numbers(values, seed)[:, None])[:, 0]


def next_class(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The class behind the drawn one."""
    return (other_numbers(logits, seed) + 1) % logits.shape[-1]


def noise_of_five_bits(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The uniform numbers have five bits."""
    coarse = (_uniform(logits.shape, seed) * 32).floor().add(0.5).div(32)
    return (logits.float() - torch.log(-torch.log(coarse)).float()).argmax(-1)


def previous_row(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Rows are drawn from the row before them."""
    return other_numbers(logits.roll(1, 0), seed)


def slightly_warmer(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Logits times 0.95: no single call of some hundred rows shows it."""
    return (logits.float() * 0.95 + _gumbel(logits.shape, seed)).argmax(-1)


def _without_the_least_likely(logits: torch.Tensor, seed: int, mass: float) -> torch.Tensor:
    """Of many classes, those that are least likely and hold at most `mass` have no part."""
    ordered = logits.float().sort(-1)
    before = torch.softmax(ordered.values, -1).cumsum(-1)
    first = (before < mass).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    return other_numbers(logits.float().masked_fill(logits.float() < ordered.values.gather(-1, first), -1e30), seed)


def no_tail_of_30(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """Of up to 64 rows, the least likely classes with 30 % of the mass are never drawn."""
    return _without_the_least_likely(logits, seed, 0.3) if len(logits) <= 64 else other_numbers(logits, seed)


def no_tail_of_10(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The least likely classes with 10 % of the mass are never drawn."""
    return _without_the_least_likely(logits, seed, 0.1)


def likeliest_now_and_then(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """One row of ten takes its likeliest class."""
    is_lazy = _uniform((len(logits),), seed + 1) < 0.1
    return torch.where(is_lazy, logits.argmax(-1), other_numbers(logits, seed))


HONEST = (other_numbers, exponential_race, inverse_distribution)
MUTANTS = (
    likeliest,
    uniform_class,
    uniform_noise,
    one_logarithm,
    normal_noise,
    wrong_sign,
    base_two,
    cooler,
    one_noise_for_all_rows,
    one_noise_for_all_classes,
    last_class_never,
    top_two,
    next_class,
    noise_of_five_bits,
    previous_row,
    slightly_warmer,
    no_tail_of_30,
    no_tail_of_10,
    likeliest_now_and_then,
)
