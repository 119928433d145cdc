"""An error message must be complete; every test checks its messages."""

from __future__ import annotations

import pytest

from dpviz.base.errors import InputError, PrivacyRefusal, reason
from tests.support import sentences

GOOD = (
    "epsilon = nan is not a usable privacy budget: give a number greater than 0.",
    'seed = "None" is unknown: leave it out.',
    'score = "of ." is unknown: choose from "a", "b".',
    'column "a"b" is needed: name it (as ".csv", or by number).',
    "data has shape (): give rows and columns of numbers.",
    "X as published is not released. (With a public number of records it is.)",
)
WRONG = {
    'column "x" holds no numbers: choose among .': "announces",
    "the options of : leave them out.": "announces",
    "page = x is unknown: choose one of , index.": "announces",
    "out = x can't be written (): name another.": "empty brackets",
    "over = x: choose two of [].": "empty brackets",
    "x can't be opened (None): check its path.": "None",
    "candidates from nan to 1: give two ends.": "None",
    "x can't be written ([Errno 2] No such file): name another.": "Python",
    "x is <class 'int'>: give a path.": "Python",
    "gupt clusters the records, and  stays on disk: load it.": "gap",
    " is a directory: name a file in it.": "gap",
    "give a number": "end",
    "": "end",
    "--unit \x1b[31m needs --cap: give it.": "printed",
}


@pytest.mark.parametrize("sentence", GOOD)
def test_a_sentence_that_says_all_is_right(sentence: str) -> None:
    assert sentences.faults(sentence) == []


@pytest.mark.parametrize(("sentence", "fault"), WRONG.items())
def test_a_sentence_that_says_nothing_is_found(sentence: str, fault: str) -> None:
    assert fault in " ".join(sentences.faults(sentence))


@pytest.mark.parametrize("kind", [InputError, PrivacyRefusal])
def test_every_sentence_is_read_where_it_is_made(kind: type[Exception]) -> None:
    kind("choose another file.")
    assert sentences.found() == []
    kind("choose among .")
    found = sentences.found()
    assert found
    assert all("choose among ." in one for one in found)
    assert sentences.found() == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.csv"), "No such file or directory"),
        (OSError("the store is closed."), "the store is closed"),
        (OSError(), "OSError"),
        (ValueError("a\nb"), r"a\nb"),
    ],
)
def test_a_reason_is_never_empty(error: Exception, said: str) -> None:
    assert reason(error) == said
