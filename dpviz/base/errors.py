"""The two errors that a user may see; each error message is one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real


class InputError(ValueError):
    """Invalid input: the message names the parameter and its value, and says what to do."""


class PrivacyRefusal(Exception):  # noqa: N818 - a refusal is a result, not an error
    """The request is well formed but would break a privacy promise (budget, domain)."""


def check_number(name: str, value: object) -> float:
    """Return a parameter as a float; raise InputError if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} = {shown(repr(value))} is not a number: give a number.")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name} has too many digits for a number: give fewer digits.") from None


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number of any type: 3, 3.0, np.int64(3), but not True."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return float(value).is_integer()


def shown(value: object, length: int = 40) -> str:
    """Return ``value`` for a message: one line, no unprintable characters, limited length."""
    text = str(value)
    head = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:length])
    return head if len(text) <= length and len(head) <= length else head[: length - 3] + "..."


def reason(error: BaseException) -> str:
    """Return the reason of an error, for a message: "No such file or directory"."""
    said = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
    return shown(said.rstrip(".:") or type(error).__name__, 160)


def some(names: Sequence[str], most: int) -> str:
    """Return the first names for a message, and then the number of further names."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown(name, 30) for name in names[:most]) + more


def listed(names: Iterable[str], length: int = 90) -> str:
    """Return quoted names for a message, up to a limit, and then the number of further names."""
    quoted = [f'"{shown(name, 30)}"' for name in names]
    kept = quoted[:1]
    for name in quoted[1:]:
        if len(", ".join(kept)) + len(name) > length:
            return ", ".join(kept) + f" and {len(quoted) - len(kept):,} more"
        kept.append(name)
    return ", ".join(kept)
