"""The two errors that a user may meet; both read as one sentence."""

from __future__ import annotations

from numbers import Real


class InputError(ValueError):
    """Wrong input: the message names the parameter, its value and the way out."""


class PrivacyRefusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """The request is well formed but would break a privacy promise (budget, domain)."""


def check_number(name: str, value: object) -> float:
    """Return a parameter as a float, or raise InputError where it is no number at all."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} = {value!r} is not a number.")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} has more digits than a number can have here.") from None
