"""Names, comments, the screen and the documentation avoid the phrases that CONTRIBUTING lists."""

import re

from tests.support import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
REFUSED = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", GUIDE.split("## Words")[1].split("##")[0], re.M)[
    1:
]
PLACES = (
    *ROOT.glob("dpviz/**/*.py"), *ROOT.glob("dpviz/**/*.toml"), *ROOT.glob("dpviz/**/*.j2"),
    *ROOT.glob("dpviz/docs/**/*.md"), *ROOT.glob("pages/*.py"), *ROOT.glob("tests/**/*.py"),
    ROOT / "app.py", ROOT / "README.md", ROOT / "SECURITY.md",
)  # fmt: skip


def found(text: str) -> list[str]:
    """Refused phrases in a text; a phrase may span two lines or be part of a name."""
    plain = re.sub(r"[\s_#*]+", " ", text).lower()
    return [one for one in REFUSED if re.search(rf"\b{re.escape(one)}(?!\w)", plain)]


def test_no_text_has_a_refused_phrase():
    assert len(REFUSED) > 10
    own = ROOT / "tests" / "test_english.py"
    wrong = {path: found(path.read_text(encoding="utf-8")) for path in PLACES if path != own}
    assert not {str(path.relative_to(ROOT)): some for path, some in wrong.items() if some}


def test_a_phrase_is_found_over_the_end_of_a_line_and_in_a_name():
    assert found("#: which hangs\n    # on it") == ["hangs on"]
    assert found("def hangs_on(x): ...") == ["hangs on"]
    assert not found("it depends on nothing")
