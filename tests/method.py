"""``make method NAME=privthr``: in a minute, the tests of one method, of any family.

A test concerns a method where its case or its file has the method's name. So new tests join by
themselves. Tests of pages, figures and files of data are left to `make test`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from dpviz.families import CARDS
from tests.support import ROOT

#: Tests without cases that miss what a method has to have.
OF_ALL = (
    "test_pairs_are_enough_and_of_every_private_way",
    "test_the_table_of_methods_is_complete_and_says_who_is_private",
    "test_all_methods_with_numbers_of_records_are_measured",
)  # fmt: skip


def places(family: str) -> list[Path]:
    """Files and folders of tests that have cases of the methods of a family."""
    tests = ROOT / "tests"
    folders = (family, "audit", "privacy", "figures", "release/test_doubt.py")
    return [*sorted(tests.glob("test_*.py")), *(tests / one for one in folders)]


def concerns(name: str, test: str) -> bool:
    """Whether a test, given by its address, is of the method with this name."""
    file, _, case = test.partition("::")
    if case in OF_ALL:
        return True
    words = f"{Path(file).stem} {case.partition('[')[2]}"
    return re.search(rf"(?<![a-z]){name}(?![a-z])", words) is not None


def main(arguments: list[str]) -> int:
    """Run the tests of the method with this name; returns the exit status."""
    name, *others = arguments
    if name not in CARDS:
        print(f'NAME is "{name}": choose one of {", ".join(CARDS)}.', file=sys.stderr)
        return 2
    files = [str(one) for one in places(CARDS[name].family)]
    return pytest.main(["--method", name, "-m", "not exhaustive", *others, *files])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
