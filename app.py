"""The app of dpviz, which shows what privacy costs. Start it with ``streamlit run app.py``."""

import streamlit as st

from dpviz.server.web import in_browser, ready, shield


def _first_by_name() -> None:
    """Show the first page also under its name, because people type this name; its path is empty."""
    from dpviz.ui.explorer.wavecluster import WaveClusterExplorer
    from dpviz.ui.page import run_page

    run_page("wavecluster", WaveClusterExplorer.page_state, WaveClusterExplorer.build)


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
        show_title,
    )
    from dpviz.ui.widgets.embed import EMBED_STYLE, embedded

    # Called before the navigation, which would otherwise load its icon from an outside host.
    st.set_page_config(page_title="dpviz", page_icon=ICON, layout="wide", initial_sidebar_state=240)
    st.logo(LOGO)
    st.html(STYLE)
    if embedded():
        st.html(EMBED_STYLE)
    frame()
    enter()

    pages = [
        st.Page(
            "pages/wavecluster.py",
            title="WaveCluster",
            icon=":material/grid_on:",
            url_path="first",
            default=True,
        ),
        st.Page("pages/kmeans.py", title="k-means", icon=":material/hub:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/stacked_line_chart:"),
        st.Page("pages/benchmark.py", title="Benchmark", icon=":material/leaderboard:"),
        st.Page("pages/audit.py", title="Audit", icon=":material/policy:"),
        st.Page("pages/papers.py", title="Papers", icon=":material/fact_check:"),
        st.Page("pages/release.py", title="Release", icon=":material/verified_user:"),
        st.Page("pages/learn.py", title="Learn", icon=":material/school:"),
        st.Page("pages/game.py", title="Game", icon=":material/casino:"),
        st.Page("pages/glossary.py", title="Glossary", icon=":material/menu_book:"),
        st.Page("pages/docs.py", title="Docs", icon=":material/help:"),
        st.Page("pages/about.py", title="About", icon=":material/info:"),
    ]
    by_name = st.Page(
        _first_by_name, title=pages[0].title, url_path="wavecluster", visibility="hidden"
    )
    page = st.navigation([*pages, by_name], position="top")
    st.set_page_config(page_title=f"{page.title} · dpviz")
    show_title(page.title)
    page.run()
    freeze_loaded_objects(page.title)


if __name__ == "__main__":
    show()
else:
    # ``streamlit run`` searches this file for an ``app`` before a session runs it.
    app = st.App(ready(__file__), lifespan=in_browser, middleware=shield())
