"""Exact numbers, and a privacy curve read backwards: against slow, obvious twins."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scumble.errors import ParameterError
from scumble.privacy.exact import (
    ROUNDING,
    as_count,
    as_fraction,
    dyadic_below,
    float_down,
    float_up,
    root_above,
    simplest_above,
)
from scumble.privacy.gaussian import least_epsilon


@settings(deadline=None)
@given(st.fractions())
def test_floats_on_both_sides(value: Fraction) -> None:
    up, down = float_up(value), float_down(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert up == down or math.nextafter(down, math.inf) == up
    assert (up == down) == (Fraction(float(value)) == value)


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=10**15))
def test_the_fraction_above_is_the_simplest(value: Fraction) -> None:
    """No smaller denominator has a fraction in the interval; and of that denominator it is the least."""
    found = simplest_above(value)
    top = value * (1 + Fraction(1, 2**40))
    assert value <= found <= top
    for denominator in range(1, min(found.denominator, 300)):
        assert Fraction(math.ceil(value * denominator), denominator) > top
    assert found == Fraction(math.ceil(value * found.denominator), found.denominator)


def test_a_scale_is_enlarged_by_two_to_the_minus_forty_at_most() -> None:
    assert Fraction(1, 2**40) == ROUNDING
    edge = Fraction(5) / (1 + Fraction(1, 2**40))
    assert simplest_above(edge) == 5  # just within reach
    assert simplest_above(edge - Fraction(1, 2**60)) != 5


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (np.float32(0.1), Fraction(float(np.float32(0.1)))),
        *((np.float16(0.25), Fraction(1, 4)), (np.int16(7), Fraction(7)), (Decimal("0.3"), Fraction(3, 10))),
        *(
            ("1/3", Fraction(1, 3)),
            (0.1, Fraction(0.1)),
            ("1e-300", Fraction(1, 10**300)),
            ("1e300", Fraction(10**300)),
        ),
        (10**301 - 1, Fraction(10**301 - 1)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_numbers_are_taken_as_what_they_are(value: object, exact: Fraction) -> None:
    assert as_fraction("x", value) == exact


ODD = [None, True, "x", [1.0], np.array([0.5]), np.array([[1]]), object(), math.nan, "1/0"]
LONG = [10**301, -(10**301), "1e301", "1e-301", Decimal("1e-301")]


@pytest.mark.parametrize("bad", [*ODD, *LONG])
def test_what_is_no_number_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="`x` must be a finite number"):
        as_fraction("x", bad)


@pytest.mark.parametrize(
    ("value", "digits"),
    [*((Fraction(n), 70) for n in (2, 3, 5, 6, 7)), (Fraction(10**60 + 1, 7), 70), (Fraction(3, 2**200), 169)],
)
def test_roots_are_rounded_up_in_the_last_of_many_binary_digits(value: Fraction, digits: int) -> None:
    with localcontext(prec=200):
        root = (Decimal(value.numerator) / Decimal(value.denominator)).sqrt() * 2**digits
        assert root_above(value) == Fraction(int(root.to_integral_value(ROUND_CEILING)), 2**digits)


@pytest.mark.parametrize(("value", "digits"), [(Fraction(1, 3), 43), (Fraction(2**60 + 1, 3), -17), (Fraction(5), 40)])
def test_binary_fractions_are_cut_after_42_digits(value: Fraction, digits: int) -> None:
    with localcontext(prec=200):
        cut = Decimal(value.numerator) / Decimal(value.denominator) * Decimal(2) ** digits
        assert dyadic_below(value) == int(cut.to_integral_value(ROUND_FLOOR)) / Fraction(2) ** digits


class Column:
    """One number, but in a column: as pandas has it."""

    shape = (1,)

    def __float__(self) -> float:
        return 0.5


def test_a_column_of_one_is_no_number() -> None:
    with pytest.raises(ParameterError, match="`x` must be a finite number"):
        as_fraction("x", Column())


def test_counts() -> None:
    assert as_count("n", 1) == 1 and as_count("n", np.uint8(9)) == 9
    for bad in (0, -1, True, 1.0, "1", None):
        with pytest.raises(ParameterError, match="`n` must be"):
            as_count("n", bad)


@pytest.mark.parametrize("rate", [1e-5, 0.3, 1.0, 7.0, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.5])
def test_the_least_epsilon_of_a_known_curve(rate: float, delta: float) -> None:
    """δ(ε) = e^(−rate·ε): the answer is −ln(δ)/rate, to nine digits and not below, and small enough."""

    def curve(epsilon: float) -> float:
        return math.exp(-rate * epsilon)

    truth = -math.log(delta) / rate
    found = least_epsilon(curve, delta)
    assert truth * (1 - 1e-13) <= found <= truth * (1 + 2e-9)
    assert curve(found) <= delta


def test_a_curve_that_is_small_at_once_ends_near_zero() -> None:
    """Not at 0, and not never: halving stops at 10⁻¹²."""
    asked: list[float] = []
    found = least_epsilon(lambda epsilon: asked.append(epsilon) or 0.0, 1e-6)
    assert 1e-13 < found <= 1e-12
    assert len(asked) < 60


def test_the_answer_is_one_that_was_tried() -> None:
    """Whatever the curve does in between: here it rises again."""
    tried = {}

    def curve(epsilon: float) -> float:
        return tried.setdefault(epsilon, abs(math.cos(3 * epsilon)))

    found = least_epsilon(curve, 0.1)
    assert tried[found] <= 0.1
