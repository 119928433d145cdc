"""K-norm noise for a release: real vectors, rounded to whole numbers without any error.

A row is round(R w): R is Gamma distributed with shape D + 1, w uniform in the body of the norm.
Both are functions of uniform real numbers, of which only the first binary digits are drawn. A
bound on the error of the arithmetic tells whether these digits decide the rounding; where they
don't, more of the same numbers' digits are drawn. So the result is exactly that of real numbers.
It is drawn in decimal arithmetic, whose square roots and logarithms are correctly rounded.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

#: Binary digits that a uniform number has at first: they decide nearly always.
DIGITS = 192


def k_norm_row(
    scale: Fraction,
    entries: int,
    ball: int,
    *,
    digits: int = DIGITS,
    draw: Callable[[int], int] = secrets.randbits,
) -> list[int]:
    """Whole numbers nearest to a real vector of density proportional to exp(-norm / scale).

    Parameters
    ----------
    scale
        Of the noise, in units.
    entries, ball
        Of how many columns the norm takes the largest entry, and of how many, after these, the
        length (:func:`dpviz.privacy.mechanisms.k_norm`).
    digits
        Binary digits to draw at once; the law is the same with any number.
    draw
        Returns as many random bits as asked for, as one number.

    Notes
    -----
    The radius is -log of the product of D + 1 uniform numbers. A point of the ball is the first
    ``ball`` coordinates of one on the sphere in two dimensions more (Archimedes), whose direction
    is that of normal numbers, drawn in pairs: the length of a pair is the square root of an
    exponential number, its direction that of a point in a disc.

    The error: a uniform number u is known up to 2^-digits, of which its own size, and that of
    1 - u where -log u is taken, must be at least 2^(-digits / 4). So every factor is known up
    to the share 2^(-digits / 2). Products, quotients, roots and sums of positive numbers don't add
    to more than some hundred such shares, far below the share 2^(-digits / 3) that is allowed for.
    """
    columns = entries + ball
    pairs = (ball + 3) // 2 if ball else 0
    uniforms = [_Uniform(digits, draw) for _ in range(columns + 1 + entries + pairs)]
    points = [_in_disc(digits, draw) for _ in range(pairs)]
    signs = [draw(1) for _ in range(entries + 2 * pairs)]
    while True:
        found = _rounded(scale, entries, ball, uniforms, points)
        if found is not None:
            return [-one if sign else one for one, sign in zip(found, signs, strict=False)]
        for uniform in (*uniforms, *(one for point in points for one in point)):
            uniform.extend()


class _Uniform:
    """First binary digits of a uniform real number between 0 and 1."""

    def __init__(self, digits: int, draw: Callable[[int], int]) -> None:
        self._draw, self._more = draw, digits
        self.digits, self.number = digits, draw(digits)

    def extend(self) -> None:
        """Draw as many digits more."""
        self.number = (self.number << self._more) | self._draw(self._more)
        self.digits += self._more

    @property
    def known(self) -> bool:
        """Whether the digits tell the number up to a small share of it."""
        return self.number >> (self.digits - self.digits // 4) > 0


def _in_disc(digits: int, draw: Callable[[int], int]) -> tuple[_Uniform, _Uniform]:
    """Uniform point of the quarter of the unit disc with positive coordinates."""
    while True:
        x, y = _Uniform(digits, draw), _Uniform(digits, draw)
        while True:
            # The real squares are at least the first sum, and less than the second one.
            one = 1 << (2 * x.digits)
            if (x.number + 1) ** 2 + (y.number + 1) ** 2 <= one:
                return x, y
            if x.number**2 + y.number**2 >= one:
                break
            x.extend()
            y.extend()


def _rounded(
    scale: Fraction,
    entries: int,
    ball: int,
    uniforms: list[_Uniform],
    points: list[tuple[_Uniform, _Uniform]],
) -> list[int] | None:
    """Absolute values of the noise, rounded; None where that takes more digits."""
    digits = uniforms[0].digits
    context = Context(prec=digits // 2, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
    if not all(uniform.known for uniform in uniforms):
        return None
    if not all(one.known for point in points for one in point):
        return None
    columns = entries + ball
    radius = _minus_log(uniforms[: columns + 1], context)
    if radius is None:
        return None
    radius = context.multiply(
        radius, context.divide(Decimal(scale.numerator), Decimal(scale.denominator))
    )
    sizes = [_decimal(one, context) for one in uniforms[columns + 1 : columns + 1 + entries]]
    if ball:
        coordinates = []
        for uniform, (x, y) in zip(uniforms[columns + 1 + entries :], points, strict=True):
            square = _minus_log([uniform], context)
            if square is None:
                return None
            length = Decimal(x.number**2 + y.number**2)
            factor = context.sqrt(context.divide(square, length))
            coordinates += [context.multiply(Decimal(one.number), factor) for one in (x, y)]
        coordinates = coordinates[: ball + 2]
        total = Decimal(0)
        for one in coordinates:
            total = context.add(total, context.multiply(one, one))
        length = context.sqrt(total)
        sizes += [context.divide(one, length) for one in coordinates[:ball]]
    allowed = context.power(Decimal(2), -(digits // 3))
    found = []
    for size in sizes:
        value = context.multiply(radius, size)
        margin = context.multiply(value, allowed)
        low, high = (
            int(context.add(bound, Decimal("0.5")))
            for bound in (context.subtract(value, margin), context.add(value, margin))
        )
        if low != high:
            return None
        found.append(low)
    return found


def _decimal(uniform: _Uniform, context: Context) -> Decimal:
    return context.divide(Decimal(uniform.number), Decimal(1 << uniform.digits))


def _minus_log(uniforms: list[_Uniform], context: Context) -> Decimal | None:
    product, digits = 1, 0
    for one in uniforms:
        product, digits = product * one.number, digits + one.digits
    if ((1 << digits) - product) >> (digits - uniforms[0].digits // 4) == 0:
        return None
    return context.minus(context.ln(context.divide(Decimal(product), Decimal(1 << digits))))
