r"""Tables and figures for LaTeX, in which every text from outside is plain text.

Tables need only the package booktabs, figures only pgfplots. Characters that pdfLaTeX does not
have, such as Chinese characters, stay unchanged, because LuaLaTeX and XeLaTeX can read them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dpviz.base.tables import read_beside

#: How LaTeX writes special characters, signs of formulas, and dashes.
SIGNS: Mapping[str, Mapping[str, str]] = read_beside(__file__, Mapping[str, Mapping[str, str]])

_WRITTEN = str.maketrans(
    {
        **SIGNS["special"],
        **{sign: rf"\ensuremath{{{formula}}}" for sign, formula in SIGNS["maths"].items()},
        **SIGNS["dashes"],
    }
)


def escaped(text: object) -> str:
    r"""Return LaTeX that prints exactly this text, on one line.

    The text shows the escape sequences of unprintable characters.

    Examples
    --------
    >>> escaped("income_%")
    'income\\_\\%'
    """
    line = "".join(
        one if one.isprintable() else " " if one.isspace() else repr(one)[1:-1] for one in str(text)
    )
    # LaTeX would print two hyphens side by side as a dash.
    return re.sub("-(?=-)", "-{}", line.translate(_WRITTEN))


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str, cited: str = ""
) -> str:
    r"""Return a table in the style of booktabs: a column of text, then columns of numbers.

    Texts are plain; ``label`` (letters, digits, hyphens) is for ``\ref``, ``cited`` for ``\cite``.
    """
    cite = rf"~\cite{{{cited}}}" if cited else ""
    lines = [" & ".join(map(escaped, cells)) + r" \\" for cells in (head, *rows)]
    return "\n".join(
        [
            r"% Needs \usepackage{booktabs}.",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escaped(caption)}{cite}}}",
            rf"  \label{{tab:{label}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"    \toprule",
            f"    {lines[0]}",
            r"    \midrule",
            *(f"    {line}" for line in lines[1:]),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


@dataclass(frozen=True, kw_only=True)
class Lines:
    """One panel: points (x, y, low, high) of named lines, and (x, y) of ``thin`` lines."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float, float, float]]]
    thin: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


def figure(
    panels: Sequence[Lines],
    axes: tuple[str, str],
    logs: tuple[bool, bool],
    caption: str,
    label: str,
    cited: str = "",
) -> str:
    r"""Return a figure of lines with error bars, drawn by pgfplots; one picture for each panel.

    ``logs``: whether the axes are logarithmic. Lines differ in mark and dash, not only in colour.
    """
    cite = rf"~\cite{{{cited}}}" if cited else ""
    modes = "".join(f", {axis}mode=log" for axis, log in zip("xy", logs, strict=True) if log)
    names = f"xlabel={{{escaped(axes[0])}}}, ylabel={{{escaped(axes[1])}}}"
    drawn = []
    for panel in panels:
        drawn += [
            r"  \begin{tikzpicture}",
            rf"    \begin{{axis}}[title={{{escaped(panel.title)}}}, {names}{modes},",
            r"      width=0.7\linewidth, height=6cm, legend pos=outer north east,",
            r"      cycle multiindex* list={black, blue, red, teal\nextlist",
            r"        mark list*\nextlist linestyles\nextlist}]",
        ]
        for name, points in panel.lines.items():
            if name in panel.thin:
                # A forgotten plot takes the colour and dash of the next plot, and has no legend.
                thin = [f"({x:g}, {y:.6g})" for x, y in panel.thin[name] if math.isfinite(y)]
                drawn.append(
                    r"      \addplot+[forget plot, very thin, mark=none] coordinates "
                    f"{{{' '.join(thin)}}};"
                )
            drawn += [
                r"      \addplot+[error bars/.cd, y dir=both, y explicit] coordinates {",
                *(
                    f"        ({x:g}, {y:.6g}) += (0, {max(high - y, 0):.4g})"
                    f" -= (0, {max(y - low, 0):.4g})"
                    for x, y, low, high in points
                    if all(map(math.isfinite, (y, low, high)))
                ),
                "      };",
                rf"      \addlegendentry{{{escaped(name)}}}",
            ]
        drawn += [r"    \end{axis}", r"  \end{tikzpicture}"]
    return "\n".join(
        [
            r"% Needs \usepackage{pgfplots} and \pgfplotsset{compat=1.18}.",
            r"\begin{figure}",
            r"  \centering",
            *drawn,
            rf"  \caption{{{escaped(caption)}{cite}}}",
            rf"  \label{{fig:{label}}}",
            r"\end{figure}",
            "",
        ]
    )


def entry(kind: str, key: str, fields: dict[str, str], *, group: bool = False) -> str:
    """Return a BibTeX entry; its fields are plain text, and empty fields are left out.

    The word "and" separates names in the field "author", but it does not split a ``group``.
    """
    written = {name: escaped(text) for name, text in fields.items() if text}
    if group:
        written["author"] = f"{{{written['author']}}}"
    lines = [f"  {name} = {{{text}}}," for name, text in written.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
