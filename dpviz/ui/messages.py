"""Messages on the screen, and text from outside as plain text in what Streamlit reads as Markdown.

Streamlit reads messages, captions, labels and tooltips as Markdown; an image in it asks a host.
Links, file names, column names and typed text come from outside, and errors quote them. So all
messages are shown by the functions below, which take any text for what it is; other Markdown that
holds such text takes it from :func:`plain_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import streamlit as st

from dpviz.errors import InputError

#: Seen by nobody; Streamlit makes links, arrows and emoji of text after Markdown was read, where
#: no backslash helps.
_JOINER = "\u2060"

#: What Markdown, HTML and formulas are made with; an underscore inside of a word is none of it.
_SIGNS = re.compile(r"[\\`*\[\]<>$~]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")

#: Beginnings of lists and headings.
_BEGINNING = re.compile(r"^(\d+(?=[.)](?!\S))|(?=[#+-]))")

#: Where addresses and shortcodes such as ":red[...]" and ":smile:" are taken apart.
_JOINTS = re.compile(r"(?<=:)(?=[^\W\d]|[+\-/:]|\d[\w+-]*:)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)

#: Signs that Streamlit replaces where they stand alone.
_REPLACED = re.compile(r"(?<!\S)(<(?=->?(?!\S))|[-<>~](?=[->=](?!\S)))")

#: Unprintable, but needed to write some languages and emoji.
_JOINERS_IN_WORDS = "\u200c\u200d"


def plain_text(text: object) -> str:
    r"""Return Markdown that Streamlit shows as this very text, on one line.

    Parameters
    ----------
    text
        Text, or what is shown as its text, such as an error.

    Returns
    -------
    str
        Markdown for every place that Streamlit has for it. What can't be printed is spelled out.

    Examples
    --------
    >>> plain_text("![b](http)")
    '!\\[b\\](http)'
    >>> plain_text("p_1 = 0.5: too low.")
    'p_1 = 0.5: too low.'
    """
    line = "".join(map(_visible, str(text))).strip()
    line = _JOINTS.sub(_JOINER, _REPLACED.sub(rf"\1{_JOINER}", line))
    return _BEGINNING.sub(r"\1\\", _SIGNS.sub(r"\\\g<0>", line))


def _visible(character: str) -> str:
    """Return the character where it can be printed on a line, else its escape sequence."""
    if character.isprintable() or character in _JOINERS_IN_WORDS:
        return character
    return " " if character.isspace() else repr(character)[1:-1]


def show_error(text: object, icon: str = ":material/error:") -> None:
    """Show an error, or a sentence, as plain text."""
    st.error(plain_text(text), icon=icon)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show wrong input inside of the block as a sentence, and go on after the block."""
    try:
        yield
    except InputError as error:
        show_error(error)


def show_warning(text: object, icon: str = ":material/warning:") -> None:
    """Show what does not stop anybody, but should be known, as plain text."""
    st.warning(plain_text(text), icon=icon)


def show_info(text: object, icon: str | None = None) -> None:
    """Show what to do next as plain text."""
    st.info(plain_text(text), icon=icon)


def show_success(text: object, icon: str) -> None:
    """Show what was done as plain text."""
    st.success(plain_text(text), icon=icon)


def show_caption(text: object, help: str | None = None) -> None:
    """Show small print as plain text, a tooltip beside it."""
    st.caption(plain_text(text), help=None if help is None else plain_text(help))


def show_corrections(notes: Iterable[object]) -> None:
    """Show what was wrong with a link, a paragraph for each sentence; nothing where all is well."""
    texts = [plain_text(note) for note in notes]
    if texts:
        st.warning("\n\n".join(("This link was corrected.", *texts)), icon=":material/link_off:")
