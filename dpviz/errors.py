"""The two errors that a user may meet; both read as one sentence."""

from __future__ import annotations


class InputError(ValueError):
    """Wrong input: the message names the parameter, its value and the way out."""


class PrivacyRefusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault
    """The request is well formed but would break a privacy promise (budget, domain)."""
