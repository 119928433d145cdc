"""Names of data sources: names that look the same mean one source, or are refused."""

from __future__ import annotations

import random
import sys
import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest

from dpviz.base.errors import InputError
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.names import check_new, key, without_packing


def refusal(name: str, *known: str) -> str:
    """Reason why a new source can't have this name; empty if it can."""
    try:
        check_new(name, known)
    except InputError as error:
        text = str(error)
        assert text.endswith(".")
        assert text.isprintable()
        return text
    return ""


@pytest.mark.parametrize(
    "name",
    [
        "household survey", "survey (2) - copy.csv", "50% & more_or=less+", "trips, 2026 (é)",
        "survey – 2019", "«опрос»", "опрос.csv", "Опрос survey 2019", "Έρευνα 2019", "Nguyễn",
        "住户调查.csv", "二〇二四年", "東京データ", "Tシャツ", "한국 조사", "مسح الأسر",
        "۱۴۰۳ گزارش", "שאלון", "हिन्दी सर्वेक्षण", "வீடு", "বাংলা", "แบบสำรวจ", "ខ្មែរ",
        "ქართული", "հայերեն", "ትግርኛ", "İstanbul",
    ],
)  # fmt: skip
def test_owners_of_all_languages_can_name_a_source(name: str) -> None:
    assert refusal(name) == ""
    assert refusal(name, "visits", "other data") == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vis\u0332its", "the character U+0332"),
        ("visits \u0332", "the character U+0332"),
        ("visits\U0001d159", "the character U+1D159"),
        ("visits\U00016fe4", "can't name a data source"),
        ("visits\u2800", "the character U+2800"),
        ("visits\u3164", "the character U+1160"),
        ("visits \u1160", "the character U+1160"),
        ("\u1780\u17b4", "the character U+17B4"),
        ("visits \u2603", "the character U+2603"),
        # Cherokee, many of whose letters look like Latin letters.
        ("\u13da\u13a2", "the character U+13DA"),
        ("surv\u0435y", "letters of several scripts in one word (cyrillic, latin)"),
        ("\u03bcm", "several scripts in one word (greek, latin)"),
        ("visits\u0650", "several scripts in one word (arabic, latin)"),
        ("visits \u0650", "an accent or mark without a letter, or the same mark"),
        ("\u0645\u0633\u0650\u0650\u062d", "an accent or mark without a letter, or the same mark"),
    ],
)
def test_what_shows_nothing_or_pretends_is_refused(name: str, why: str) -> None:
    assert why in refusal(name)


def test_no_character_that_shows_nothing_can_be_in_a_name() -> None:
    # Characters with the property Default_Ignorable_Code_Point of Unicode 16, and other characters
    # that print as a blank.
    ranges = (
        "00AD 034F 061C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 2800 3164 "
        "FE00-FE0F FEFF FFA0 FFF0-FFF8 16FE4 1BCA0-1BCA3 1D159 1D173-1D17A E0000-E0FFF"
    )
    for part in ranges.split():
        first, _, last = part.partition("-")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            assert refusal(f"vis{chr(code)}its"), hex(code)
            assert refusal(f"visits {chr(code)}"), hex(code)


@pytest.mark.some(1000)
@pytest.mark.parametrize(
    ("known", "name"),
    [
        ("copa", "сора"),  # Latin, Cyrillic
        ("copa", "СОРА"),
        ("COPA", "сора"),
        ("Возраст", "BO3PACT"),
        ("PETE", "ΡΕΤΕ"),  # Latin, Greek
        ("ho", "հօ"),  # Latin, Armenian
        ("MAIL", "MAlL"),
        ("mail", "MAlL"),
        ("wave 1", "wave I"),
        ("visits 10", "visits 1O"),
        ("barn", "bam"),
        ("a-b", "a–b"),
        ("it's", "it’s"),
        ("مسح", "مســح"),  # with a stretching character
        ("へ", "ヘ"),  # Hiragana, Katakana
        ("survey.csv", "survey.parquet"),
        ("survey.csv", "Survey.TSV.gz"),
        ("survey.xlsx", "survey.geojson"),
        ("survey.zip", "survey.csv"),
        ("survey", "survey.npy"),
        ("survey.csv", "survey . "),
    ],
)
def test_a_name_that_can_be_taken_for_a_known_one_is_refused(
    tmp_path: Path, known: str, name: str
) -> None:
    for one, other in ((known, name), (name, known)):
        assert f'looks like source "{one}"' in refusal(other, "visits", one)
    budget = Budget(tmp_path / "budget.db")
    budget.open(known, 1.0)
    for call in (
        lambda: budget.find(name),
        lambda: budget.open(name, 1.0),
        lambda: budget.debit(name, 0.5, {}, total=1.0),
    ):
        with pytest.raises(InputError, match="looks like source"):
            call()
    assert [one.id for one in budget.datasets()] == [known]


@pytest.mark.parametrize(
    ("known", "name"),
    [
        ("mail", "mall"), ("cafe", "café"), ("wave 1", "wave 2"), ("visits", "visit s"),
        ("опрос", "опросы"), ("住户", "住户 2"), ("survey.csv", "survey2.csv"), ("a_b", "a-b"),
        ("survey.docx", "survey.csv"),
    ],
)  # fmt: skip
def test_names_that_look_different_are_two_sources(known: str, name: str) -> None:
    assert refusal(name, known) == refusal(known, name) == ""


@pytest.mark.some(1000)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Homes", " homes "), ("ho\ufb00", "hoff"), ("\uff48omes", "homes"), ("STRASSE", "straße"),
        ("ΣΑΣ", "σας"), ("caf\u00e9", "cafe\u0301"), ("a  b", "a b"),
    ],
)  # fmt: skip
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert key(one) == key(other)


def test_every_look_alike_of_the_standard_is_refused_or_known() -> None:
    """3,000 names from seed 0, each with one letter replaced by a look-alike."""
    rng = random.Random(0)
    table = [
        line.split(";")
        for line in files("dpviz.privacy")
        .joinpath("confusables.txt")
        .read_text("ascii")
        .split("\n")
        if line and not line.startswith("#")
    ]
    alike: dict[str, list[str]] = {}
    for prototype, codes in table:
        text = "".join(chr(int(one, 16)) for one in prototype.split())
        group = [text, *(chr(int(one, 16)) for one in codes.split())]
        for one in group:
            alike.setdefault(one, []).extend(group)
    exchanged = 0
    for _ in range(3000):
        known = "".join(
            rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789 ") for _ in range(9)
        )
        known = known.strip() or "a"
        name = "".join(rng.choice(alike.get(one, [one])) for one in known)
        if key(name) != key(known):
            assert refusal(name, known), (known, name)
            exchanged += 1
    assert exchanged > 2000


def test_any_text_is_a_name_or_refused_in_a_sentence() -> None:
    """20,000 random texts, from seed 0. All normal forms of a valid name have the same key."""
    rng = random.Random(0)
    pools = [
        lambda: chr(rng.randrange(sys.maxunicode + 1)),
        lambda: chr(rng.randrange(0x3000)),
        lambda: chr(rng.randrange(0x80)),
    ]
    names = 0
    for _ in range(20_000):
        pool = rng.choice(pools)
        text = "".join(pool() for _ in range(rng.randrange(1, 6)))
        if refusal(text):
            continue
        names += 1
        for form in ("NFC", "NFD", "NFKC"):
            assert key(unicodedata.normalize(form, text)) == key(text)
        assert any(unicodedata.category(one)[0] in "LNPS" for one in text)
    assert names > 1000


@pytest.mark.parametrize(
    "name", ["survey.csv", "survey.csv.gz", "survey.csv.GZ", "survey.csv.Gz", "survey.CSV.gZ",
             "survey.csv. .", "survey.csv.gz.", "survey.csv.gz.gz", "SURVEY.CSV"]
)  # fmt: skip
def test_packing_makes_no_other_name(name: str) -> None:
    assert key(without_packing(name)) == "survey.csv"


def test_a_name_is_left_where_it_is_all_packing() -> None:
    assert without_packing(".gz") == ".gz"
    assert without_packing("...") == "..."
    assert without_packing("gz") == "gz"
