"""LaTeX prints text from outside unchanged, and never executes it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.base.latex import SIGNS, Lines, entry, escaped, figure, table
from dpviz.families import CARDS
from dpviz.papers.references import keys, our_bibtex, references

#: Allowed commands, each with the text that it prints.
PRINTS = {
    **{written: sign for sign, written in SIGNS["special"].items()},
    **{rf"\ensuremath{{{formula}}}": sign for sign, formula in SIGNS["maths"].items()},
    r"\ldots{}": "…",
    r"\textendash{}": "–",
    "-{}": "-",
}
TOKENS = re.compile("|".join(re.escape(one) for one in sorted(PRINTS, key=len, reverse=True)))


def printed(latex: str) -> str:
    """Text that a piece of LaTeX prints; fails if a command has another effect."""
    text, at = "", 0
    while at < len(latex):
        if found := TOKENS.match(latex, at):
            text, at = text + PRINTS[found.group()], found.end()
        else:
            assert latex[at] not in "\\{}$&%#_~^<>|\"'`", latex[at:]
            assert latex[at : at + 2] != "--"
            text, at = text + latex[at], at + 1
    return text


@given(st.text())
@example(r"\input{/etc/passwd}")
@example("100 % of a_b & c^2 ~ {x} #1 $y$ -- ?` '' \"")
@example("---\u2028}\\end{table}")
@example("6.01 × 10¹³, k′ ≤ ε − α…")
def test_any_text_prints_as_it_is(text):
    line = "".join(
        one if one.isprintable() else " " if one.isspace() else repr(one)[1:-1] for one in text
    )
    assert printed(escaped(text)) == line


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=3), st.text())
def test_a_table_has_its_cells_and_nothing_else(rows, caption):
    lines = table(("", "private"), rows, caption, "t").splitlines()
    assert lines[:3] == [r"% Needs \usepackage{booktabs}.", r"\begin{table}", r"  \centering"]
    assert lines[3] == rf"  \caption{{{escaped(caption)}}}"
    assert lines[5:7] == [r"  \begin{tabular}{lr}", r"    \toprule"]
    assert lines[7:9] == [r"     & private \\", r"    \midrule"]
    assert lines[-3:] == [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
    cells = [line.removesuffix(r" \\")[4:].split(" & ") for line in lines[9:-3]]
    assert len(cells) == len(rows)
    for drawn, row in zip(cells, rows, strict=True):
        assert drawn == [escaped(one) for one in row]


@given(st.text())
def test_braces_of_an_entry_are_even(title):
    text = entry("misc", "key", {"title": title, "note": ""})
    assert "note" not in text
    depth = 0
    for one in text:
        depth += (one == "{") - (one == "}")
        assert depth >= 0
    assert depth == 0


def test_every_method_cites_its_papers_and_dpviz():
    for card in CARDS.values():
        text = references(card)
        assert re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE) == keys(card)
        assert keys(card)[-1] == "dpviz"
        assert (len(keys(card)) == 1) == (card.origin == "ours")
    chen = references(CARDS["privthr"])
    assert "author = {L. Chen and T. Yu and R. Chirkova}," in chen
    assert "title = {WaveCluster with Differential Privacy}," in chen
    assert "(CIKM)}," in chen
    assert keys(CARDS["dpkmeans_mapreduce"]) == [
        "zhang2018differential", "li2016means", "li2013research", "dpviz",
    ]  # fmt: skip
    # The venue of this paper is unknown.
    assert "howpublished" not in references(CARDS["mcmc"])


@given(st.text(), st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), max_size=3))
def test_a_figure_has_its_points_and_plain_texts(text, ends):
    points = [(float(at), max(one), min(one), max(one)) for at, one in enumerate(ends)]
    written = figure(
        [Lines(title=text, lines={text: points})], ("ε", text), (True, False), text, "t"
    )
    assert rf"\begin{{axis}}[title={{{escaped(text)}}}" in written
    assert rf"\addlegendentry{{{escaped(text)}}}" in written
    assert rf"\caption{{{escaped(text)}}}" in written
    assert "xmode=log" in written
    assert "ymode" not in written
    drawn = re.findall(r"\((\S+), (\S+)\) \+= \(0, (\S+)\) -= \(0, (\S+)\)", written)
    assert [tuple(map(float, one)) for one in drawn] == [
        pytest.approx((x, y, high - y, y - low), rel=1e-3, abs=1e-3) for x, y, low, high in points
    ]
    assert written.count("{") == written.count("}")


def test_our_entry_has_a_group_as_author_a_year_and_an_address(monkeypatch):
    text = our_bibtex()
    assert "author = {{The dpviz maintainers}}," in text
    assert re.search(r"year = \{20\d\d\},", text)
    assert "url" not in text  # the project has no address yet
    monkeypatch.setattr("dpviz.papers.references.ADDRESS", "https://example.org/d_p")
    assert r"url = {https://example.org/d\_p}," in our_bibtex()
