r"""Tables for LaTeX, with any text from outside as plain text.

Needs the package booktabs alone. Letters beyond those of pdfLaTeX (such as Chinese ones) stay as
they are: LuaLaTeX and XeLaTeX read them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Characters that LaTeX reads as commands or draws as others. Braces of a text are written as
#: words: BibTeX counts braces.
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
}

#: Signs of our own texts that pdfLaTeX has in formulas alone.
_MATHS = {
    "ε": r"\varepsilon",
    "α": r"\alpha",
    "η": r"\eta",
    "θ": r"\theta",
    "β": r"\beta",
    "γ": r"\gamma",
    "ω": r"\omega",
    "′": "'",
    "×": r"\times",
    "·": r"\cdot",
    "≤": r"\le",
    "≥": r"\ge",
    "−": "-",
    "∞": r"\infty",
    "⁻": "^{-}",
    **{sign: f"^{{{digit}}}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}

#: One table for :meth:`str.translate`.
_WRITTEN = str.maketrans(
    {
        **_SPECIAL,
        **{sign: rf"\ensuremath{{{formula}}}" for sign, formula in _MATHS.items()},
        "…": r"\ldots{}",
        "–": r"\textendash{}",
    }
)


def escaped(text: object) -> str:
    r"""Return LaTeX that prints exactly this text, on one line.

    Unprintable characters become their escape sequences, as text.

    Examples
    --------
    >>> escaped("income_%")
    'income\\_\\%'
    """
    line = "".join(
        one if one.isprintable() else " " if one.isspace() else repr(one)[1:-1] for one in str(text)
    )
    # Hyphens side by side would become a dash.
    return re.sub("-(?=-)", "-{}", line.translate(_WRITTEN))


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str, cited: str = ""
) -> str:
    r"""Return a table in the style of booktabs; the first column is text, all others numbers.

    Head, rows and caption are plain text. The label is for ``\ref``: letters, digits and hyphens.
    Keys in ``cited`` are for ``\cite`` at the end of the caption.
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


def entry(kind: str, key: str, fields: dict[str, str]) -> str:
    """Return an entry of BibTeX; its fields are plain text, and empty ones are left out.

    The kind is such as "misc"; "author" is a list of names with " and " between them.
    """
    lines = [f"  {name} = {{{escaped(text)}}}," for name, text in fields.items() if text]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
