"""What becomes of a logged value."""

import decimal
import enum
import fractions
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trackio_like.run.values import MAX_STEP, as_number, as_step, plain_numbers, sort_values


class Colour(enum.Enum):
    RED = 3


class Name(enum.StrEnum):
    ACC = "acc"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 2, True], [1.5, 2, True]),
        ([np.float64(0.5), np.float32(0.25), np.int64(3), np.bool_(True)], [0.5, 0.25, 3, True]),
        ([torch.tensor(1.5, dtype=torch.bfloat16), torch.ones((), requires_grad=True)], [1.5, 1.0]),
        ([2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        ([1.0, "x"], None),
        ([2**63], None),
        ([np.array([1.0])], None),
        ([np.array("x")], None),
        ([], None),
    ],
)
def test_the_quick_way_takes_plain_numbers_and_leaves_the_rest(values, expected):
    found = plain_numbers(values)
    assert found == expected
    assert found is None or {type(number) for number in found} <= {float, int, bool}


def numbers(metrics):
    found = sort_values(metrics)
    return dict(zip(found.keys, found.values, strict=True))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array(2.5), 2.5),
        (np.array([7.0]), 7.0),
        (np.float32(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.int64(-(2**63)), -(2**63)),
        (np.uint64(2**63 - 1), 2**63 - 1),
        (np.bool_(True), True),
        (torch.tensor(1.5, dtype=torch.bfloat16), 1.5),
        (torch.tensor([[3]]), 3),
        (torch.ones((), requires_grad=True) * 2, 2.0),
        (torch.tensor(0.5, dtype=torch.float8_e4m3fn), 0.5),
        (decimal.Decimal("0.25"), 0.25),
        (fractions.Fraction(1, 4), 0.25),
        (Colour.RED, 3),
    ],
)
def test_what_is_one_number_is_kept_as_that_number(value, expected):
    found = numbers({"z": value})["z"]
    assert found == pytest.approx(expected, rel=1e-9)
    assert type(found) in (float, int, bool)


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_of_64_bits_are_exact(value):
    assert numbers({"n": value}) == {"n": value}


def test_a_wider_integer_is_kept_as_the_nearest_double_and_said_so():
    found = sort_values({"n": 2**70, "m": 1})
    assert dict(zip(found.keys, found.values, strict=True)) == {"n": float(2**70), "m": 1}
    assert [cause for cause, _ in found.problems] == ["wide n"]


def test_an_integer_beyond_doubles_keeps_its_digits_as_text():
    found = sort_values({"n": 10**400})
    assert found.objects == [("n", "text", str(10**400), None)]
    assert [cause for cause, _ in found.problems] == ["huge n"]


def test_nested_dicts_are_flattened_with_slashes():
    assert numbers({"a": {"b": {"c": 1, 2: 3.0}}, "d": 4}) == {"a/b/c": 1, "a/b/2": 3.0, "d": 4}


def test_a_circular_dict_costs_itself_only():
    circle: dict = {"x": 1}
    circle["again"] = circle
    found = sort_values({"c": circle, "ok": 2})
    assert found.values[-1] == 2
    assert any(cause.startswith("deep") for cause, _ in found.problems)


def test_keys_of_any_kind_become_text_and_an_empty_one_costs_itself():
    found = sort_values({Name.ACC: 1.0, 3: 2.0, ("a", "b"): 3.0, "": 4.0})
    assert found.keys == ["acc", "3", "('a', 'b')"]
    assert [cause for cause, _ in found.problems] == ["empty key"]


@given(st.text(min_size=1))
def test_any_text_is_a_key(key):
    assert list(numbers({key: 1.0})) == [key]


def test_a_key_with_half_a_surrogate_is_kept_with_a_mark():
    assert list(numbers({"bad\ud800": 1.0})) == ["bad?"]


def test_strings_are_texts_and_never_numbers():
    found = sort_values({"loss": "nan", "acc": 0.7, "phase": "warm-up"})
    assert found.keys == ["acc"]
    assert found.objects == [("loss", "text", "nan", None), ("phase", "text", "warm-up", None)]


def test_lists_of_plain_values_are_kept_whole():
    found = sort_values({"l": [1, 2.5, "x"], "s": {3}, "t": (np.int64(1),)})
    assert [(o[0], o[1], o[2]) for o in found.objects] == [
        ("l", "json", [1, 2.5, "x"]),
        ("s", "json", [3]),
        ("t", "json", [1]),
    ]


@pytest.mark.parametrize("value", [np.zeros(3), torch.zeros(2, 2), object(), 1j, b"raw", [object()], np.array(1j)])
def test_what_is_no_number_costs_its_key_and_says_so(value):
    found = sort_values({"bad": value, "good": 1.0})
    assert found.keys == ["good"]
    ((cause, message),) = found.problems
    assert cause == "type bad"
    assert "'bad'" in message
    assert "other keys of this call were logged" in message


def test_a_value_that_raises_costs_its_key_only():
    class Broken:
        def __float__(self):
            raise RuntimeError("device lost")

    found = sort_values({"bad": Broken(), "good": 1.0})
    assert found.keys == ["good"]
    assert "device lost" in found.problems[0][1]


def test_none_means_no_value_now():
    found = sort_values({"best": None, "loss": math.nan})
    assert found.keys == ["loss"]
    assert [cause for cause, _ in found.problems] == ["none best"]


@pytest.mark.parametrize(
    ("step", "expected"),
    [(3, 3), (-2, -2), (np.int32(5), 5), (4.0, 4), (torch.tensor(6), 6), (1.5, None), ("x", None), (2**63, None)],
)
def test_a_step_is_a_whole_number(step, expected):
    assert as_step(step) == expected


def test_the_largest_step_leaves_room_to_count_on():
    assert as_step(MAX_STEP) == MAX_STEP
    assert as_step(MAX_STEP + 1) is None


def test_a_string_is_no_number():
    assert as_number("1") is None
