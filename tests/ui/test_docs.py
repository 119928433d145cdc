"""The Docs page: a link to every page of the documentation, and the site behind the links."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

import dpviz.ui.reference.docs
from dpviz.docs.site import pages
from tests.support.links import opened


def test_the_list_leads_to_every_page_and_builds_nothing(monkeypatch):
    monkeypatch.setattr(dpviz.ui.reference.docs, "build_site", None)
    text = " ".join(one.value for one in opened("docs", {}).markdown)
    for path in pages():
        assert f"(docs?page={path})" in text


def test_a_page_is_built_once_and_its_address_is_on_this_server(monkeypatch):
    built = []
    monkeypatch.setattr(dpviz.ui.reference.docs, "build_site", built.append)
    dpviz.ui.reference.docs._site.clear()
    for _ in range(2):
        test = opened("docs", {"page": "methods/privthrem"})
        assert not test.exception
        (body,) = [one.proto.body for one in test.get("html") if "The page is" in one.proto.body]
        assert 'href="/component/dpviz.ui.reference.docs.docs/methods/privthrem.html"' in body
    assert len(built) == 1
    dpviz.ui.reference.docs._site.clear()


def test_a_page_that_is_not_there_shows_the_list():
    test = opened("docs", {"page": "methods/none"})
    assert "methods/none" in test.warning[0].value
    assert "(docs?page=privacy)" in " ".join(one.value for one in test.markdown)


def test_the_card_of_a_method_links_to_its_page():
    def page() -> None:
        from dpviz.ui.widgets.card_panel import card_panel

        card_panel("privqt")

    test = AppTest.from_function(page, default_timeout=60).run()
    assert "(docs?page=methods/privqt)" in " ".join(one.value for one in test.markdown)
