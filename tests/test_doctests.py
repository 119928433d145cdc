"""Examples in docstrings print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import dpviz

ROOT = Path(dpviz.__file__).parent

#: Only these modules are searched: to look for examples in all of them takes seconds.
MODULES = [
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in sorted(ROOT.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.some(len(MODULES))
@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    failed, tried = doctest.testmod(importlib.import_module(name), verbose=False)
    assert tried
    assert not failed
