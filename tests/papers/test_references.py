"""Citations are the same in BibTeX, in CITATION.cff and in the table of papers."""

import json
import re

from dpviz import __version__
from dpviz.families import CARDS
from dpviz.papers import PAPERS
from dpviz.papers.references import ABSTRACT, REFERENCES, bibtex, our_bibtex, references
from tests.support import ROOT


def test_the_table_of_papers_cites_them_alike():
    known = {one.authors: one for one in REFERENCES}
    for paper in PAPERS.values():
        one = known[paper.authors]
        language = " (in Chinese)" if one.chinese else ""
        assert (paper.title, paper.venue, paper.year) == (one.title + language, one.place, one.year)


def test_each_paper_has_an_entry_with_all_that_is_known():
    entries = re.findall(r"@(\w+)\{(\w+),\n(.*?)\n\}", bibtex(), flags=re.DOTALL)
    assert [key for _, key, _ in entries] == ["dpviz", *(one.key for one in REFERENCES)]
    assert len({key for _, key, _ in entries}) == len(entries)
    for (kind, _, fields), one in zip(entries[1:], REFERENCES, strict=True):
        assert f"year = {{{one.year}}}" in fields
        assert fields.count(" and ") >= one.authors.count(", ")
        needed = {"inproceedings": "booktitle", "article": "journal", "misc": "title"}[kind]
        assert f"  {needed} = {{" in fields
    by_key = {key: (kind, fields) for kind, key, fields in entries}
    kind, fields = by_key["hu2019clustering"]
    assert kind == "article"
    assert "volume = {46}" in fields
    assert "number = {2}" in fields
    assert "note = {In Chinese}" in fields
    assert f"version {__version__}" in our_bibtex()


def test_every_paper_that_a_card_names_has_an_entry_with_the_fields_of_its_kind():
    needed = {"article": {"journal"}, "inproceedings": {"booktitle"}, "misc": set()}
    for card in CARDS.values():
        entries = re.findall(r"@(\w+)\{([^,]+),\n(.*?)\n\}", references(card), flags=re.DOTALL)
        named = re.findall(r"\b(?:19|20)\d\d\b|et al\.", card.source)
        assert len(entries) == 1 + len(named), card.source
        for kind, key, text in entries:
            fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", text, flags=re.MULTILINE))
            assert {"author", "title", "year"} | needed[kind] <= set(fields)
            assert all(fields.values())
            assert key.isascii()
            # An abbreviation is a conference or an archive, and no journal.
            assert fields.get("journal", "").isupper() <= (fields.get("journal") == "PLOS ONE")


def test_the_citation_file_is_what_the_program_says():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    head, _, papers = text.partition("references:\n")
    read = dict(re.findall(r"^([\w-]+): *(.*)$", head, flags=re.MULTILINE))
    assert read["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type"} <= set(read)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert json.loads(read["version"]) == __version__
    assert 'version = { attr = "dpviz.__version__" }' in project
    assert f'license = "{read["license"]}"' in project
    titles = re.findall(r'^    title: (".*")$', papers, flags=re.MULTILINE)
    assert [json.loads(one) for one in titles] == [one.title for one in REFERENCES]
    assert json.loads(read["abstract"]) == ABSTRACT
    assert re.findall(r"^    year: (.*)$", papers, flags=re.MULTILINE) == [
        str(one.year) for one in REFERENCES
    ]
    people = re.findall(r"family-names: (.*)\n +given-names: (.*)", papers)
    assert ", ".join(f"{given} {family}" for family, given in people) == ", ".join(
        one.authors for one in REFERENCES
    )
    assert "      - family-names: Hu\n        given-names: C.\n" in papers
    assert '    journal: "Computer Science"\n    volume: 46\n    issue: "2"\n' in papers
