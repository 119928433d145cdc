"""Each page with data accepts each sample set: every control must allow the values of the set."""

import pytest

from dpviz.data.samples import sample_names
from tests.support.links import opened

PAIRS = [(page, name) for page in ("wavecluster", "kmeans", "release") for name in sample_names()]


@pytest.mark.some(5)
@pytest.mark.parametrize(("page", "name"), PAIRS)
def test_a_page_opens_with_each_sample_set(page, name, tmp_path, monkeypatch):
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    test = opened(page, {"data": name})
    assert not test.exception
    assert not test.error
