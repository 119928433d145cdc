"""K-norm noise for a release: real vectors that are rounded to whole numbers without any error.

A row is round(R w): R has the Gamma distribution of shape D + 1, and w is uniform in the unit body
of the norm. Both are functions of uniform real numbers. More binary digits of these numbers are
drawn until an error bound shows that the digits determine the result. Decimal square roots and
logarithms are correctly rounded.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

#: Number of binary digits that are drawn first; they almost always suffice.
DIGITS = 192


def k_norm_row(
    scale: Fraction,
    entries: int,
    ball: int,
    *,
    digits: int = DIGITS,
    draw: Callable[[int], int] = secrets.randbits,
) -> list[int]:
    """Whole numbers nearest to a real vector whose density is proportional to exp(-norm / scale).

    The norm is the largest of the first ``entries`` columns or, if larger, the length of the next
    ``ball`` columns (:func:`dpviz.privacy.mechanisms.k_norm`). The distribution is the same for any
    number of ``digits`` drawn at a time; ``draw`` returns random bits as an integer.

    The radius is -log of the product of D + 1 uniform numbers. A uniform point of the ball is the
    first ``ball`` coordinates of a point on the sphere with two more dimensions (Archimedes), in
    the direction of normal numbers. They are drawn in pairs: the length of a pair is the square
    root of an exponential number, and its direction is that of a point in a disc.

    Error bound: a uniform number u is known up to 2^-digits. u must be at least 2^(-digits / 4),
    and 1 - u, too, if -log u is computed. So the relative error of every factor is at most
    2^(-digits / 2). Some hundred such errors are far below the allowed relative error 2^(-digits /
    3).
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
        self.number = (self.number << self._more) | self._draw(self._more)
        self.digits += self._more

    @property
    def known(self) -> bool:
        """Whether the digits determine the number up to a small relative error."""
        return self.number >> (self.digits - self.digits // 4) > 0


def _in_disc(digits: int, draw: Callable[[int], int]) -> tuple[_Uniform, _Uniform]:
    while True:
        x, y = _Uniform(digits, draw), _Uniform(digits, draw)
        while True:
            # The real sum of squares is between the sums for the digits and for the digits + 1.
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
    """Absolute values of the noise, rounded; None if more digits are needed."""
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
    sizes = [
        context.divide(Decimal(one.number), Decimal(1 << one.digits))
        for one in uniforms[columns + 1 : columns + 1 + entries]
    ]
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


def _minus_log(uniforms: list[_Uniform], context: Context) -> Decimal | None:
    product, digits = 1, 0
    for one in uniforms:
        product, digits = product * one.number, digits + one.digits
    if ((1 << digits) - product) >> (digits - uniforms[0].digits // 4) == 0:
        return None
    return context.minus(context.ln(context.divide(Decimal(product), Decimal(1 << digits))))
