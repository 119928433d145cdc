"""Share the view on the screen: its link, a QR code of the link, and HTML of a frame for slides."""

from __future__ import annotations

import html

import streamlit as st

from dpviz.families import FAMILIES
from dpviz.ui.messages import show_caption
from dpviz.ui.session.address import class_link, full_link, is_local, on_this_machine, origin_of
from dpviz.ui.session.classroom import OPEN_TO_GUESTS
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.assets import component
from dpviz.ui.widgets.class_panel import class_panel, say_only_here
from dpviz.ui.widgets.embed import embedded

_mount = component("copy_link")

_FRAME = (960, 540)


@st.fragment
def share_panel(state: UrlState, *, frame: bool) -> None:
    """Show a button at the top of the page that opens link, QR code and frame."""
    if embedded():
        return
    with (
        st.container(key="share"),
        st.popover(
            "Share", icon=":material/share:", key=f"{state.page}:share", on_change="rerun"
        ) as panel,
    ):
        # The link is made when the button is pressed, so that it has the current settings.
        if panel.open:
            _draw(state, frame)


def _draw(state: UrlState, frame: bool) -> None:
    # Guests of a class can't load files, so a link with own data is for this computer.
    for_class = state.page in OPEN_TO_GUESTS and state.link().get("data") != "own"
    link = (class_link if for_class else full_link)(state.link())
    _mount(key=f"{state.page}:copy link", data=origin_of(link))
    if "data" in state:
        show_caption("A link never contains your own data: people who open it load the file first.")
    if for_class:
        class_panel(f"{state.page}:class")
    # On this machine, the class panel above already says which devices can open the app.
    if is_local(link) and not (for_class and on_this_machine()):
        say_only_here()
    st.html(qr_code(link))
    if frame:
        what = "only picture, sentence and ε" if state.page in FAMILIES else "only the page"
        show_caption(f"For a slide or a course page: {what}.")
        st.code(frame_of(full_link(state.link(), embed="true")), language=None, wrap_lines=True)
        show_caption("Add &embed_options=dark_theme or light_theme to choose one of the themes.")


def qr_code(link: str) -> str:
    """QR code of a link as HTML, black on white in both themes, with the link below.

    A link to this computer has no code, because a phone can't open it. If the link is too long for
    a QR code (more than 2,331 bytes), a sentence replaces the code.
    """
    import segno  # imported here, because the import would delay the first picture

    try:
        code = segno.make_qr(link, error="m")
    except segno.DataOverflowError:
        return "<p>This link is too long for a QR code: copy it.</p>"
    # The code is an image, because Streamlit removes SVG drawings from HTML.
    drawn = code.svg_data_uri(dark="#000", light="#fff", border=4, omitsize=True)
    picture = f'<img src="{html.escape(drawn)}" alt="QR code of the link">' * (not is_local(link))
    return (
        f'<figure class="dpv-qr">{picture}'
        f'<figcaption tabindex="0">{html.escape(link)}</figcaption></figure>'
    )


def frame_of(link: str) -> str:
    """HTML of a frame for slides that shows a link."""
    width, height = _FRAME
    return (
        f'<iframe src="{html.escape(link)}" width="{width}" height="{height}" '
        'style="border:0" title="dpviz: see what privacy costs"></iframe>'
    )
