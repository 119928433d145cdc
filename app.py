"""The app of dpviz, which shows what privacy costs. Start it with ``streamlit run app.py``."""

import streamlit as st

from dpviz.server.web import in_browser, ready, shield

#: The navigation: doors, and behind each door the files in ``pages/`` with their titles. The pages
#: behind "?" are for reference.
DOORS = {
    "Explore": {"wavecluster": "WaveCluster", "kmeans": "k-means"},
    "Compare": {"compare": "Compare"},
    "Learn": {"learn": "Lessons", "game": "Game"},
    "Release": {"release": "Release"},
    "Evidence": {"benchmark": "Benchmark", "audit": "Audit", "papers": "Papers"},
    "?": {"glossary": "Glossary", "docs": "Docs", "about": "About"},
}


def show() -> None:
    """Show the frame and the requested page."""
    # Imported in a session, because components can only be declared after the server has started.
    from dpviz.ui.page import (
        ICON,
        LOGO,
        STYLE,
        enter,
        frame,
        freeze_loaded_objects,
        navigate,
        show_title,
    )
    from dpviz.ui.widgets.embed import EMBED_STYLE, embedded

    # Called before the navigation, which would otherwise load its icon from an outside host.
    st.set_page_config(page_title="dpviz", page_icon=ICON, layout="wide", initial_sidebar_state=240)
    st.logo(LOGO)
    st.html(STYLE)
    if embedded():
        st.html(EMBED_STYLE)
    enter()
    page, title = navigate(DOORS)
    frame()  # after the side bar, because frame shows the page
    st.set_page_config(page_title=f"{title} · dpviz")
    show_title(title, page.url_path)
    page.run()
    freeze_loaded_objects(title)


if __name__ == "__main__":
    show()
else:
    # ``streamlit run`` searches this file for an ``app`` before a session runs it.
    app = st.App(ready(__file__), lifespan=in_browser, middleware=shield())
