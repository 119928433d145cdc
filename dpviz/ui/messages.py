"""Messages on the screen, and escaping of untrusted text for Streamlit's Markdown.

Streamlit reads messages, captions, labels and tooltips as Markdown, in which an image contacts a
host. Links, names and typed text are untrusted, and errors quote them. So the functions below
escape their text; code that writes other Markdown uses :func:`plain_text`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import streamlit as st

from dpviz.base.errors import InputError

#: Character that splits links, arrows and emoji codes, because a backslash can't disable them.
_JOINER = "\u2060"

#: Special characters of Markdown, HTML and formulas, except underscores inside a word.
_SIGNS = re.compile(r"[\\`*\[\]<>$~]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")

#: Characters that begin a list or a heading.
_BEGINNING = re.compile(r"^(\d+(?=[.)](?!\S))|(?=[#+-]))")

#: Positions at which addresses and shortcodes such as ":red[...]" and ":smile:" are split.
_JOINTS = re.compile(r"(?<=:)(?=[^\W\d]|[+\-/:]|\d[\w+-]*:)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)

#: Signs that Streamlit replaces if they are between spaces.
_REPLACED = re.compile(r"(?<!\S)(<(?=->?(?!\S))|[-<>~](?=[->=](?!\S)))")

#: Unprintable characters that some languages and emoji need.
_JOINERS_IN_WORDS = "\u200c\u200d"


def plain_text(text: object) -> str:
    r"""Return Markdown that Streamlit shows as exactly this text (or object), on one line.

    >>> plain_text("![b](http)")
    '!\\[b\\](http)'
    >>> plain_text("p_1 = 0.5: too low.")
    'p_1 = 0.5: too low.'
    """
    line = "".join(map(_visible, str(text))).strip()
    line = _JOINTS.sub(_JOINER, _REPLACED.sub(rf"\1{_JOINER}", line))
    return _BEGINNING.sub(r"\1\\", _SIGNS.sub(r"\\\g<0>", line))


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS_IN_WORDS:
        return character
    return " " if character.isspace() else repr(character)[1:-1]


def docs_link(page: str, label: str) -> str:
    """Markdown of a link to a documentation page, which Streamlit opens in a new window."""
    return f"[{plain_text(label)}](docs?page={page})"


def show_error(text: object, icon: str = ":material/error:") -> None:
    """Show an error or a sentence as plain text."""
    st.error(plain_text(text), icon=icon)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show an InputError from the block as a sentence, and continue after the block."""
    try:
        yield
    except InputError as error:
        show_error(error)


def show_warning(text: object, icon: str = ":material/warning:") -> None:
    """Show a warning as plain text."""
    st.warning(plain_text(text), icon=icon)


def warn_owner(text: str) -> None:
    """Show a warning that reveals something about the true data, so it is only for the owner."""
    show_warning(f"{text} Only you see this sentence.")


def show_info(text: object, icon: str | None = None) -> None:
    """Show a hint on what to do next as plain text."""
    st.info(plain_text(text), icon=icon)


def show_success(text: object, icon: str) -> None:
    """Show a success message as plain text."""
    st.success(plain_text(text), icon=icon)


def show_caption(text: object, help: str | None = None) -> None:
    """Show a caption as plain text, with an optional tooltip."""
    st.caption(plain_text(text), help=None if help is None else plain_text(help))


def show_corrections(notes: Iterable[object]) -> None:
    """Show each error of a link in its own paragraph; without errors, show nothing."""
    texts = [plain_text(note) for note in notes]
    if texts:
        # The key tells frame.js that the message does not replace the picture.
        with st.container(key="dpv-corrected"):
            st.warning(
                "\n\n".join(("This link was corrected.", *texts)), icon=":material/link_off:"
            )


class NothingLoadedError(InputError):
    """Own data are chosen but not yet on the screen; the message says why and what to do."""

    def __init__(self, sentence: str, below: Callable[[], None] = lambda: None) -> None:
        super().__init__(sentence)
        self._below = below

    def show(self, *, stops: bool = False) -> None:
        """Show the sentence, as an error if it ``stops`` the user, and the widgets that help."""
        show = show_error if stops else show_info
        show(self, icon=":material/upload_file:")
        self._below()
