"""Text from outside in a real browser: it is seen as it is, and no outside host is asked."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.hostile import TEXTS, random_texts

#: Whatever Markdown, HTML or a formula would make of a text.
MADE = "a,img,strong,em,del,code,pre,h1,h2,h3,ul,ol,li,hr,br,blockquote,table,script,.katex,svg"


def seen(text: str) -> str:
    """Text without the joiners that nobody sees."""
    return text.replace("\u2060", "")


def test_messages_show_any_text_as_it_is(app_url, open_page) -> None:
    watched = open_page(app_url("tests/browser/demo_messages.py"))
    texts = (*TEXTS, *random_texts(100))
    places = "[data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]"
    boxes = f"[class*=st-key-text] :is({places})"
    expect(watched.page.locator(boxes)).to_have_count(4 * len(texts))
    found = watched.page.evaluate(
        """([made, places]) => [...document.querySelectorAll("[class*=st-key-text]")].map((box) =>
            [...box.querySelectorAll(places)].map((place) =>
                [place.textContent, place.querySelectorAll(made).length]))""",
        [MADE, places],
    )
    assert len(found) == len(texts)
    for text, places in zip(texts, found, strict=True):
        assert [(seen(shown), made) for shown, made in places] == 4 * [(text, 0)]
    assert watched.hosts == {"127.0.0.1"}
    assert watched.errors == []
