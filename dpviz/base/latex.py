r"""Tables for LaTeX, in which every text from outside is plain text.

The tables need only the package booktabs. Characters that pdfLaTeX does not have, such as Chinese
characters, stay unchanged, because LuaLaTeX and XeLaTeX can read them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Characters that LaTeX reads as commands or prints as other characters. Braces become commands
#: without braces in pairs, because BibTeX counts braces.
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

#: Signs in dpviz's own texts that pdfLaTeX has only in formulas.
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

    Head, rows and caption are plain text. The label is for ``\ref`` and consists of letters, digits
    and hyphens. ``cited`` has the keys for ``\cite`` at the end of the caption.
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
    """Return a BibTeX entry; its fields are plain text, and empty fields are left out.

    The kind is the type of the entry, for example "misc". The field "author" has names with
    " and " between them.
    """
    lines = [f"  {name} = {{{escaped(text)}}}," for name, text in fields.items() if text]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
