"""The schedule function: what each step does."""

from __future__ import annotations

import warnings

import pytest

from mindtorch_v2.profiler import schedule

LETTERS = {"NONE": "N", "WARMUP": "W", "RECORD": "R", "RECORD_AND_SAVE": "S"}


def letters(steps: int = 14, **config: int) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        action = schedule(**config)
    return " ".join(LETTERS[action(i).name] for i in range(steps))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, "N W R S N N N N N N N N N N"),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, "N W R S N W R S N N N N N N"),
        ({"wait": 1, "warmup": 1, "active": 2}, "N W R S N W R S N W R S N W"),
        ({"wait": 0, "warmup": 1, "active": 1}, "W S W S W S W S W S W S W S"),
        ({"wait": 0, "warmup": 0, "active": 1}, "S S S S S S S S S S S S S S"),
        ({"wait": 0, "warmup": 0, "active": 3}, "R R S R R S R R S R R S R R"),
        ({"wait": 0, "warmup": 1, "active": 3, "repeat": 2}, "W R R S W R R S N N N N N N"),
        ({"wait": 2, "warmup": 1, "active": 2, "repeat": 1, "skip_first": 3}, "N N N N N W R S N N N N N N"),
        ({"wait": 2, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1}, "N N N W R S N N W R S N N N"),
        (
            {"wait": 2, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1, "skip_first_wait": 1},
            "N W R S N N W R S N N N N N",
        ),
        ({"wait": 3, "warmup": 1, "active": 1, "repeat": 1, "skip_first_wait": 1}, "W S N N N N N N N N N N N N"),
        ({"wait": 3, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 5}, "N N W S N N N W S N N N W S"),
        ({"wait": 0, "warmup": 2, "active": 2, "skip_first": 1, "skip_first_wait": 1}, "N W W R S W W R S W W R S W"),
    ],
)
def test_actions_of_the_first_steps(config, expected):
    assert letters(**config) == expected


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}])
@pytest.mark.parametrize("error", [AssertionError, ValueError])
def test_wrong_values_raise_both_kinds_of_error(wrong, error):
    with pytest.raises(error, match="^Invalid profiler schedule arguments. Got wait="):
        schedule(**{"wait": 0, "warmup": 1, "active": 1, **wrong})


def test_the_message_names_all_values():
    with pytest.raises(AssertionError) as caught:
        schedule(wait=-1, warmup=0, active=1)
    assert str(caught.value) == (
        "Invalid profiler schedule arguments. Got wait=-1 (need >= 0), warmup=0 (need >= 0), active=1 (need > 0), "
        "repeat=0 (need >= 0), skip_first=0 (need >= 0)."
    )
    assert type(caught.value).__name__ == "AssertionError"


def test_no_warmup_warns_at_the_callers_line():
    with pytest.warns(UserWarning, match="Profiler won't be using warmup, this can skew profiler results") as caught:
        schedule(wait=0, warmup=0, active=1)
    assert caught[0].filename == __file__


def test_negative_steps_are_refused():
    with pytest.raises(AssertionError, match=r"^Step must be non-negative. Got -1.$"):
        schedule(wait=0, warmup=1, active=1)(-1)


def test_arguments_are_keywords():
    with pytest.raises(TypeError, match="takes 0 positional arguments but 3 were given"):
        schedule(1, 1, 1)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'active'"):
        schedule(wait=1, warmup=1)
