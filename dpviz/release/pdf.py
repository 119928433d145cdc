"""The review sheet as PDF/A, by the optional package WeasyPrint."""

from __future__ import annotations

from typing import Any, NoReturn

from dpviz.base.errors import InputError, reason


def sheet_pdf(page: bytes) -> bytes:
    """Print the page ``sheet.html`` as PDF/A-3b, with tags and all fonts inside.

    Raises InputError if WeasyPrint, or a library of the system that it needs, is missing.
    """
    try:
        from weasyprint import HTML
    except (ImportError, OSError) as error:
        raise InputError(
            f"--pdf needs WeasyPrint, which can't be used ({reason(error)}): run "
            'pip install "dpviz[pdf]", or print sheet.html in a browser.'
        ) from None
    document = HTML(string=page.decode(), url_fetcher=_refuse)
    made: bytes = document.write_pdf(
        finisher=_without_empty_resources,
        pdf_variant="pdf/a-3b",
        pdf_tags=True,
        pdf_identifier=b"dpviz review sheet",
    )
    return made


def _without_empty_resources(_: Any, pdf: Any) -> None:
    """Remove empty lists of patterns and shadings, which some checkers of PDF/A don't approve."""
    for one in pdf.objects:
        for name in ("Pattern", "Shading"):
            if isinstance(one, dict) and one.get(name) == {}:
                del one[name]


def _refuse(url: str, *_: object) -> NoReturn:
    """Load nothing: the page needs no other file."""
    raise ValueError(url)
