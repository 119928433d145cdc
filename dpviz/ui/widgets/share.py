"""Share the view on the screen: its link, a QR code of it, and a frame for slides."""

from __future__ import annotations

import html

import streamlit as st

from dpviz.families import FAMILIES
from dpviz.ui.messages import show_caption
from dpviz.ui.session.address import base_address, full_link, is_local
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.assets import component
from dpviz.ui.widgets.embed import embedded

_mount = component("copy_link")

#: Width and height of a frame on a slide.
_FRAME = (960, 540)


@st.fragment
def share_panel(state: UrlState, *, frame: bool = True) -> None:
    """Show a button in the page's head that opens link, QR code and frame."""
    if embedded():
        return
    with (
        st.container(key="share"),
        st.popover(
            "Share", icon=":material/share:", key=f"{state.page}:share", on_change="rerun"
        ) as panel,
    ):
        # Drawn when it opens: it shows the settings of that moment.
        if panel.open:
            _draw(state, frame)


def _draw(state: UrlState, frame: bool) -> None:
    link = full_link(state.link())
    _mount(key=f"{state.page}:copy link")
    if "data" in state:
        show_caption("A link never holds your own data: whoever opens it loads the file first.")
    st.html(qr_code(link))
    if is_local(base_address()):
        show_caption("This address works on this computer alone.")
    if frame:
        what = "picture, readouts and ε alone" if state.page in FAMILIES else "the page alone"
        show_caption(f"For a slide or a course page: {what}.")
        st.code(frame_of(full_link(state.link(), embed="true")), language=None, wrap_lines=True)
        show_caption("Add &embed_options=dark_theme or light_theme for one of the two themes.")


def qr_code(link: str) -> str:
    """QR code of a link as HTML, black on white in both themes, with the link below.

    A link beyond what a QR code holds (2,331 bytes) gets a sentence in its place.
    """
    import segno  # costs a part of the first picture's time, and few pages need it

    try:
        code = segno.make_qr(link, error="m")
    except segno.DataOverflowError:
        return "<p>This link is too long for a QR code: copy it.</p>"
    # As an image: Streamlit takes drawings out of HTML.
    picture = code.svg_data_uri(dark="#000", light="#fff", border=4, omitsize=True)
    return (
        f'<figure class="dpv-qr"><img src="{html.escape(picture)}" alt="QR code of the link">'
        f'<figcaption tabindex="0">{html.escape(link)}</figcaption></figure>'
    )


def frame_of(link: str) -> str:
    """HTML that shows a link in a frame of a slide."""
    width, height = _FRAME
    return (
        f'<iframe src="{html.escape(link)}" width="{width}" height="{height}" '
        'style="border:0" title="dpviz: see what privacy costs"></iframe>'
    )
