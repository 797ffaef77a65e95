"""vmap: dimensions that an operator names are those of one sample."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

# Sizes 2 and 4 and small integers: Fourier transforms of these are exact in any order of summation.
SAMPLES = torch.arange(24.0, dtype=torch.float64).reshape(3, 2, 4) % 7
HALVES = torch.complex(SAMPLES, SAMPLES.flip(0))
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "fft": (lambda x: torch.fft.fft(x), SAMPLES),
    "fft_first": (lambda x: torch.fft.fft(x, dim=0), HALVES),
    "ifft": (lambda x: torch.fft.ifft(x, n=2), HALVES),
    "fft2": (lambda x: torch.fft.fft2(x), SAMPLES),
    "fftn_all": (lambda x: torch.fft.fftn(x), HALVES),
    "fftn_none": (lambda x: torch.fft.fftn(x, dim=()), HALVES),
    "rfft": (lambda x: torch.fft.rfft(x, dim=0), SAMPLES),
    "irfft": (lambda x: torch.fft.irfft(x, n=4), HALVES[:, :, :3]),
    "ihfft": (lambda x: torch.fft.ihfft(x), SAMPLES),
    "stft": (lambda x: torch.stft(x[0], 4, hop_length=1, window=torch.ones(4).double(), return_complex=True), SAMPLES),
    "flip_none": (lambda x: torch.flip(x, ()), SAMPLES),
    "flip_last": (lambda x: torch.flip(x, (-1,)), SAMPLES),
    "roll_of_number": (lambda x: torch.roll(x[0, 0], 1), SAMPLES),
    "roll_all": (lambda x: torch.roll(x, 3), SAMPLES),
    "roll_two": (lambda x: torch.roll(x, (1, -1), (0, -1)), SAMPLES),
    "masked_fill": (lambda x: x.masked_fill(x > 3, x[0, 1]), SAMPLES),
    "index_select_of_number": (lambda x: x[0, 0].index_select(0, torch.tensor([0])), SAMPLES),
    "scatter_add_of_number": (lambda x: x[0, 0].scatter_add(0, torch.tensor(0), x[1, 1]), SAMPLES),
    "pixel_shuffle_of_nothing": (lambda x: torch.pixel_shuffle(x.reshape(1, 0, 1, 1), 1), SAMPLES[:, :, :0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batch_equals_samples(name: str) -> None:
    function, samples = FUNCTIONS[name]
    assert torch.equal(torch.vmap(function)(samples), torch.stack([function(sample) for sample in samples]))


def test_fourier_transform_of_unit_vectors() -> None:
    made = torch.vmap(torch.fft.fft)(torch.eye(4, dtype=torch.float64)[:2])
    assert made.tolist() == [[1, 1, 1, 1], [1, -1j, -1, 1j]]


def test_gradient_of_a_batched_transform() -> None:
    def energy(x: Any) -> Any:
        return (torch.fft.rfft(x).abs() ** 2)[0]

    # The first coefficient is the sum of the four elements, so each has twice the sum as its gradient.
    assert torch.vmap(torch.func.grad(energy))(SAMPLES[:, 0]).tolist() == [
        [2.0 * total] * 4 for total in SAMPLES[:, 0].sum(1).tolist()
    ]
