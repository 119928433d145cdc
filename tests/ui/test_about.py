"""The about page: it agrees with the code, and lists all packages with their licences."""

from dpviz import __version__
from dpviz.data.samples import sample, sample_names
from dpviz.families import CARDS
from dpviz.papers.references import REFERENCES
from dpviz.ui.messages import plain_text
from dpviz.ui.reference.about import LICENCES
from tests.support.links import opened


def test_the_page_says_version_private_methods_papers_and_licences():
    test = opened("about", {})
    assert not test.exception
    assert test.header[0].value == f"About dpviz {__version__}"
    said = "\n".join(one.value for one in test.markdown)
    proven = [card for card in CARDS.values() if card.spends]
    private = [card for card in proven if any(one.private for one in card.variants)]
    assert f"{len(private)} of {len(proven)} methods" in said
    failing = said.split("the claim fails for ")[1].split(":\n  their cards")[0].split(", ")
    assert failing == [
        card.title
        for card in proven
        if any(one.name == "published" and not one.private for one in card.variants)
    ]
    for one in REFERENCES:
        assert f"*{plain_text(one.title)}*" in said
    assert "Natural Earth" in said
    assert "before anybody else" in said
    for name in sample_names():
        assert f"* {plain_text(sample(name).title)} ({sample(name).licence}): " in said
    packages = test.dataframe[0].value
    assert packages["version"].str.len().gt(0).all()
    assert list(packages["package"]) == list(LICENCES["packages"])
    assert [one.value for one in test.header[1:]] == [
        "What is private, and what isn't", "Cite", "Licences", "Report a privacy flaw",
    ]  # fmt: skip
