"""Names of data sources. If a name looks like a known name, it means that source, or is refused.

A second spelling of one name would open a second lifetime budget. Three rules, based on Unicode
Technical Standard #39 (UTS39, "Unicode Security Mechanisms"), prevent such spellings:

* Spellings that differ only in case, width or spaces are the same name (:func:`key`).
* A new name may contain punctuation and the letters, marks and digits of scripts in everyday use. A
  mark follows a letter. A word does not mix scripts, except Chinese, Japanese and Korean with Latin
  letters. Invisible characters are not allowed.
* A new name that looks like a known name is refused: for example a name with similar letters of
  another script, or a file name with another format.

Sources from an older version keep their names, even names that these rules would refuse.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from dpviz.base.errors import InputError
from dpviz.base.formats import FORMATS, PACKINGS

LONGEST_NAME = 200

#: First words of the names of characters of scripts in everyday use (Recommended Scripts of Unicode
#: Standard Annex #31, table 5). Most letters that look similar belong to other scripts.
_SCRIPTS = frozenset(
    """
    ARABIC ARABIC-INDIC ARMENIAN BENGALI BOPOMOFO CJK CYRILLIC DEVANAGARI ETHIOPIC EXTENDED
    GEORGIAN GREEK GUJARATI GURMUKHI HANGUL HEBREW HIRAGANA IDEOGRAPHIC KANNADA KATAKANA
    KATAKANA-HIRAGANA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA SINHALA TAMIL TELUGU THAANA THAI
    TIBETAN
    """.split()  # noqa: SIM905 - a list of a line each would hide it
)

#: Scripts that one word may mix.
_EAST_ASIAN = {
    *("BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KATAKANA-HIRAGANA"),
    "LATIN",
}

#: Invisible characters of these scripts: halves of syllables, fillers, two deprecated vowels.
_UNSEEN = re.compile("[\u1100-\u11ff\u17b4\u17b5\ua960-\ua97f\ud7b0-\ud7ff]")

#: A character that only lengthens the preceding Arabic letter; the word stays the same.
_STRETCH = "\u0640"

#: Endings of files that say only the format of a table, or how it is packed.
_FORMATS = re.compile(
    rf"({'|'.join(map(re.escape, [*FORMATS, *PACKINGS, '.shp']))}|[. ])+\Z", re.IGNORECASE
)


def cleaned(source: object) -> str:
    """Return the name of a source as it is stored and shown, or raise InputError."""
    if not isinstance(source, str):
        raise InputError(f"source = {source!r} is not a text: give the data source a name.")
    name = unicodedata.normalize("NFC", source).strip()
    if not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(
            f"source = {name[:40]!a} can't name a data source: give 1 to {LONGEST_NAME} "
            "characters that can be printed."
        )
    return name


def key(source: object) -> str:
    """Key that is equal for all spellings of one name."""
    return " ".join(unicodedata.normalize("NFKC", cleaned(source)).casefold().split())


def check_new(source: object, known: Iterable[str] = ()) -> None:
    """Raise InputError if a new source may not have this name, given the known names."""
    name = unicodedata.normalize("NFKC", cleaned(source))
    for character in name:
        if not _is_allowed(character):
            raise InputError(
                f"source = {name[:40]!a} can't name a data source with the character "
                f"U+{ord(character):04X} in it: use letters, digits and punctuation."
            )
    # A mark on a space, or the same mark twice, is hardly visible.
    if _stray_mark(name):
        raise InputError(
            f"source = {name[:40]!a} has an accent or mark without a letter, or the same mark "
            "twice: type the name again."
        )
    for word in "".join(one if _is_written(one) else " " for one in name).split():
        scripts = {_script(one) for one in word}
        if len(scripts) > 1 and not scripts <= _EAST_ASIAN:
            raise InputError(
                f"source = {name[:40]!a} can't name a data source with letters of several "
                f"scripts in one word ({', '.join(sorted(scripts)).lower()}): use one script."
            )
    looks = _looks(name)
    for other in known:
        if looks & _looks(other):
            raise InputError(
                f'source = {name[:40]!a} looks like source "{other}", which has a budget: '
                "give that name for the same data, or a name that looks different for other data."
            )


def without_packing(file: str) -> str:
    """Remove a file name's packing suffix, and the characters that Windows removes after it."""
    plain = file.rstrip(". ")
    while plain.casefold().endswith(".gz"):
        plain = plain[:-3].rstrip(". ")
    return plain or file


def without_format(file: str) -> str:
    """Remove the endings of a file's name that say the format of the table."""
    return _FORMATS.sub("", file) or file


def _is_allowed(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    category = unicodedata.category(character)
    if category[0] == "P":
        return True
    known = category[0] in "LM" or category in ("Nd", "Nl")
    return known and _script(character) in _SCRIPTS and not _UNSEEN.match(character)


def _is_written(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _stray_mark(name: str) -> bool:
    return any(
        unicodedata.category(mark)[0] == "M" and (before == mark or not _is_written(before))
        for before, mark in zip(f" {name}", name, strict=False)
    )


def _looks(name: str) -> set[str]:
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    stem = without_format(plain)
    return {_skeleton(one) for one in (stem, stem.casefold(), stem.upper())}


def _skeleton(text: str) -> str:
    table = _prototypes()
    for form in ("NFC", "NFD", "NFD"):
        text = "".join(table.get(one, one) for one in unicodedata.normalize(form, text))
    return text


@cache
def _prototypes() -> dict[str, str]:
    table = {_STRETCH: ""}
    lines = files("dpviz.privacy").joinpath("confusables.txt").read_text("ascii").splitlines()
    for line in lines:
        if not line.startswith("#"):
            prototype, alike = (
                [chr(int(one, 16)) for one in part.split()] for part in line.split(";")
            )
            table |= dict.fromkeys(alike, "".join(prototype))
    return table
