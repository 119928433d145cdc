"""The five steps of a release: what is done, what stays, what is proposed, what is rehearsed."""

from __future__ import annotations

import re
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpviz.data.cities import cities
from dpviz.data.dataset import Dataset
from dpviz.data.samples import sample
from dpviz.figures.where import where_map
from dpviz.grid.domain import Domain
from dpviz.release.rehearsal import PublicData, Rehearsal, StandIn, of_public, rehearse
from dpviz.ui.data.own_columns import by_name
from dpviz.ui.release import data as data_steps
from dpviz.ui.release import rehearsal as rehearsal_panel
from dpviz.ui.release.steps import TITLES
from tests.support.controls import control, source_box
from tests.ui.test_release import button, has_button, home, page, press
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import visit

__all__ = ["home", "page"]

LINK = {
    "data": "own", "method": "privqt", "g": 16, "domain": "13,14;52,53", "columns": "lon,lat",
    "several": "no", "nhat": 10_000,
}  # fmt: skip


def table(seed: int, rows: int = 300) -> bytes:
    rng = np.random.default_rng(seed)
    at = rng.choice([[13.2, 52.3], [13.7, 52.8]], rows) + rng.normal(0, 0.02, (rows, 2))
    lines = (f"p{i % 50},{lat:.4f},{lon:.4f}" for i, (lon, lat) in enumerate(at))
    return "\n".join(["who,lat,lon", *lines]).encode()


def load(test: AppTest, content: bytes, key: str = "own:file") -> AppTest:
    test.file_uploader(key=key).set_value(("rides.csv", content, "text/csv"))
    return checked(test.run())


def step(test: AppTest) -> tuple[int, str]:
    """Number of the step that is shown, and the steps that are done."""
    row = control(test.segmented_control, "release:steps")
    return row.value, "".join(one[0] for one in row.options if one.endswith("✓"))


def hidden(test: AppTest) -> set[int]:
    style = next(one.proto.body for one in test.get("html") if "display: none" in one.proto.body)
    return {at for at in range(1, 6) if f".st-key-release-step-{at}" in style}


def stopped(test: AppTest) -> str:
    """Press Next in a step that is not done: the page says why once, and stays at this step."""
    before = step(test)[0]
    press(test, "Next")
    assert step(test)[0] == before
    found = test.error[0].value
    assert [one.value for one in (*test.error, *test.info)].count(found) == 1
    return found


@pytest.fixture
def rehearsals(monkeypatch: pytest.MonkeyPatch) -> list[StandIn]:
    """Stand-ins of all rehearsals; each rehearsal is brief."""
    found: list[StandIn] = []

    def quick(request: Any, stand_in: StandIn, **more: Any) -> Rehearsal:
        found.append(stand_in)
        return rehearse(request, stand_in, draws=3, **more)

    monkeypatch.setattr(rehearsal_panel, "rehearse", quick)
    return found


def rehearsed(test: AppTest) -> AppTest:
    assert test.session_state["release:rehearsal"].wait(60)
    return checked(test.run())


def test_own_data_go_through_the_steps_and_back_without_loss(page, rehearsals) -> None:
    test = page()
    assert step(test) == (1, "12")
    kind = control(test.segmented_control, "release:kind")
    assert kind.options[0] == "Own data"
    checked(kind.set_value("own").run())
    assert step(test) == (1, "")
    assert stopped(test) == "Load a file above, or choose a sample set."
    load(test, table(0))
    # The columns are proposed by their names; longitude is first.
    (columns,) = (one for one in test.multiselect if one.label == "Columns")
    assert columns.value == ["lon", "lat"]
    press(test, "Next")
    assert (step(test), hidden(test)) == ((2, "1"), {1, 3, 4, 5})
    assert stopped(test) == "Declare the bounds of both columns."
    city = next(one for one in test.selectbox if one.label == "City")
    checked(city.set_value("Berlin, Germany").run())
    assert test.query_params["domain"].startswith("13.1")
    assert step(test) == (2, "12")
    press(test, "Next")
    # Nobody has answered who is protected.
    assert stopped(test).endswith("whether one person can have several records.")
    checked(control(test.radio, "own:unit").set_value(1).run())
    press(test, "Next")
    (waits,) = (one.value for one in test.info if "the rehearsal waits" in one.value)
    assert waits.startswith('Under "Persons, about", type the number that public sources name')
    assert rehearsals == []
    checked(control(test.number_input, "release:about:persons").set_value(300).run())
    rehearsed(test)
    # The step is not done while a better plan is known.
    assert step(test) == (4, "123")
    press(test, "Use the recommended plan")
    assert step(test) == (4, "1234")
    assert len(rehearsals) == 1
    press(test, "Next")
    assert (step(test), button(test, "Next").disabled) == ((5, "1234"), True)
    for at in (4, 3, 2, 1):
        press(test, "Previous")
        assert step(test)[0] == at
        assert hidden(test) == {1, 2, 3, 4, 5} - {at}
    assert step(test) == (1, "1234")
    assert test.query_params["unit"] == "who"
    assert test.query_params["domain"].startswith("13.1")
    assert len(rehearsals) == 1  # a look back starts nothing


@pytest.mark.parametrize(
    ("link", "expected"),
    [({"data": "incomes"}, 5), (LINK, 4), (LINK | {"domain": ""}, 2)],
)
def test_a_link_opens_the_first_step_with_something_to_do(page, rehearsals, link, expected) -> None:
    test = page(**{name: value for name, value in link.items() if value != ""})
    if link["data"] == "own":
        assert step(test) == (1, "")
        load(test, table(0))
    assert step(test)[0] == expected
    assert all(f"{at} {title}" in control(test.segmented_control, "release:steps").options[at - 1]
               for at, title in enumerate(TITLES, 1))  # fmt: skip


def test_city_and_width_follow_the_box_and_the_box_follows_them(page, rehearsals) -> None:
    """On every page, after a link, and after the box was typed."""
    test = load(page(data="own", columns="lon,lat", domain="13.115,13.707;52.344,52.704"), table(0))

    def fields() -> tuple[Any, Any, bool]:
        width = next(one for one in test.number_input if one.label == "Width in km")
        city = next(one for one in test.selectbox if one.label == "City")
        return city.value, width.value, width.disabled

    assert fields() == ("Berlin, Germany", 40, False)
    width = next(one for one in test.number_input if one.label == "Width in km")
    checked(width.set_value(60).run())
    assert test.query_params["domain"].startswith("12.9")
    assert fields() == ("Berlin, Germany", 60, False)
    lat = next(one for one in test.text_input if one.label.startswith("lat: from"))
    checked(lat.set_value("55, 55.2").run())
    assert fields() == (None, None, True)
    captions = " ".join(one.value for one in test.caption)
    assert "No city is inside." in captions
    city = next(one for one in test.selectbox if one.label == "City")
    checked(city.set_value("Leipzig, Sachsen, Germany").run())
    assert fields() == ("Leipzig, Sachsen, Germany", 20, False)
    assert "The largest city inside is Leipzig" in " ".join(one.value for one in test.caption)
    checked(control(test.text_input, "release:title").set_value("Rides in Berlin").run())
    assert "The title names Berlin, but the box lies elsewhere." in test.warning[-1].value


def test_only_a_clear_pair_of_names_is_proposed() -> None:
    assert by_name(["who", "lat", "lon"]) == ["lon", "lat"]
    assert by_name(["latitude", "longitude", "age"]) == ["longitude", "latitude"]
    assert by_name(["x", "y", "who"]) == []
    assert by_name(["pickup_lon", "pickup_lat", "dropoff_lon", "dropoff_lat"]) == []


def test_a_public_file_stands_in_and_no_private_value_does(page, rehearsals) -> None:
    plans = []
    for private in (table(0), table(1, 500)):
        test = load(page(**LINK | {"standin": "file", "nhat": 5000}), private)
        assert not has_button(test, "Rehearse")
        # The private file itself is refused.
        load(test, private, "release:public upload")
        assert any("This is the file that will be released" in one.value for one in test.error)
        assert not has_button(test, "Rehearse")
        load(test, b"a,b\n1,2\n", "release:public upload")
        assert any('has no column "lon"' in one.value for one in test.error)
        load(test, table(7, 900), "release:public upload")
        assert not test.error
        rehearsed(test)
        assert step(test) == (4, "12" if has_button(test, "Use the recommended") else "124")
        plans.append(
            (rehearsals[-1].dataset.digest, test.session_state["release:rehearsal"].result)
        )
    (one, first), (other, second) = plans
    # Two private files, one public file: stand-in, forecast and advice are the same.
    assert one == other
    assert first.plan.sentence == second.plan.sentence
    assert first.advice == second.advice
    assert first.records == 900


def test_only_public_data_can_become_a_stand_in() -> None:
    """The types keep a data set of the owner apart; mypy checks every call."""
    assert get_type_hints(rehearse)["stand_in"] is StandIn
    assert get_type_hints(of_public)["public"] is PublicData
    assert not issubclass(Dataset, PublicData | StandIn)


def test_settings_that_were_seen_on_true_data_are_named_and_public_ones_are_offered(
    page, rehearsals
) -> None:
    test = load(page(**LINK | {"nhat": 5000}), table(0))
    assert not any("Seen on true data" in one.value for one in test.warning)
    visit(test, "wavecluster")
    for name, value in {"choose": "given", "g": 40, "p": 0.7, "epsilon": 2.0}.items():
        test.session_state[f"wavecluster:{name}"] = value
    checked(test.run())
    visit(test, "release")
    (said,) = (one.value for one in test.warning if "Seen on true data" in one.value)
    assert "Seen on true data: ε 2, g 40, p 0.70. Set on another page" in said
    # Other values that are set here have not been seen.
    checked(control(test.number_input, "release:p").set_value(0.75).run())
    assert any("Seen on true data: ε 2, g 40. Set" in one.value for one in test.warning)
    visit(test, "kmeans")
    visit(test, "release")
    assert any("Seen on true data: ε 2, g 40. Set" in one.value for one in test.warning)
    assert button(test, "Take public values").label.endswith(": ε 1, g 44")
    press(test, "Take public values")
    assert not any("Seen on true data" in one.value for one in test.warning)
    assert (test.query_params["g"], test.query_params["epsilon"]) == ("44", "1")
    # The explorer's button leads here by a link.
    visit(test, "wavecluster")
    for name, value in {"choose": "given", "g": 40, "epsilon": 2.0}.items():
        test.session_state[f"wavecluster:{name}"] = value
    checked(test.run())
    link = {name: test.query_params[name] for name in test.query_params if name != "view"}
    visit(test, "release", **link, nhat=5000, several="no")
    assert any("Seen on true data: ε 2, g 40" in one.value for one in test.warning)
    rehearsed(test)  # a job that still waits would run in the next test


def test_a_file_that_is_not_read_stops_the_first_step_and_the_active_one_is_named(
    page, rehearsals
) -> None:
    test = load(page(data="own", columns="lon,lat"), table(0))
    press(test, "Previous")
    assert step(test) == (1, "1")
    load(test, bytes(range(256)))
    assert step(test) == (1, "")
    assert "rides.csv is still active" in stopped(test)
    said = "is not read: rides.csv is still active."
    assert any(said in one.value for one in test.warning)
    test.file_uploader(key="own:file").set_value(None)
    checked(test.run())
    assert not any(said in one.value for one in test.warning)
    press(test, "Next")
    assert step(test)[0] == 2


def test_a_file_that_can_t_be_read_is_said_once(page) -> None:
    test = load(page(data="own", columns="lon,lat"), bytes(range(256)))
    (before,) = (one.value for one in test.error)
    assert stopped(test) == before


def test_the_map_of_the_place_has_lines_cities_and_no_record() -> None:
    world, berlin = where_map(("lon", "lat"), None, "light"), Domain(((13.0, 13.8), (52.3, 52.7)))
    near = where_map(("lon", "lat"), berlin, "light")
    assert [one["mode"] for one in world.data] == ["lines", "markers+text"]
    assert near.layout["shapes"][0]["x0"] == 13.0
    assert "Berlin" in near.data[-1]["text"]
    assert "Berlin" not in world.data[-1]["text"]
    for panels in (world, near):
        assert panels.layout["dragmode"] == "select"
        assert "lon (to the right) and lat (upwards)" in panels.alt


def test_the_step_does_not_change_while_it_is_filled_in(page, rehearsals) -> None:
    test = load(page(**{name: value for name, value in LINK.items() if name != "domain"}), table(0))
    for name, bounds in (("lon", "13, 14"), ("lat", "52, 53")):
        (box,) = (one for one in test.text_input if one.label == f"{name}: from, to")
        checked(box.set_value(bounds).run())
        assert step(test)[0] == 2
    assert step(test) == (2, "12")
    assert rehearsals == []


def numbers(test: AppTest) -> tuple[str, Any]:
    """Label and value of the box of the public number."""
    (box,) = (one for one in test.number_input if one.label.endswith(", about"))
    return box.label, box.value


def test_a_rehearsal_has_the_records_that_the_owner_typed_and_no_others(page, rehearsals) -> None:
    known = {name: value for name, value in LINK.items() if name != "nhat"}
    test = load(page(**known), table(0))
    assert (step(test)[0], numbers(test), rehearsals) == (4, ("Records, about", None), [])
    checked(control(test.number_input, "release:about:nhat").set_value(700).run())
    rehearsed(test)
    assert rehearsals[-1].dataset.n == 700
    # For persons the link's number is still the number of records.
    checked(control(test.radio, "own:unit").set_value(1).run())
    checked(control(test.number_input, "own:cap").set_value(2).run())
    assert numbers(test) == ("Persons, about", 350)
    checked(control(test.number_input, "release:about:persons").set_value(400).run())
    rehearsed(test)
    assert rehearsals[-1].dataset.n == 800
    assert any("800 records, 2 of each person" in one.value for one in test.caption)
    assert test.query_params["nhat"] == "700"
    # Another file has other persons; and the file itself never gives their number.
    test.file_uploader(key="own:file").set_value(("more.csv", table(3, 900), "text/csv"))
    checked(test.run())
    assert not {"nhat", "persons"} & set(test.query_params)
    made_up = page(data="incomes", nhat=4000)
    assert numbers(made_up) == ("Records, about", 4000)
    box = next(one for one in made_up.selectbox if one.label == "Sample set")
    checked(box.select(sample("noise").title).run())
    assert numbers(made_up) == ("Records, about", sample("noise").n)


def test_answers_about_one_file_are_not_those_of_another_that_an_explorer_loaded(page) -> None:
    test = load(page(**LINK), table(0))
    assert (numbers(test), test.query_params["several"]) == (("Records, about", 10_000), "no")
    visit(test, "wavecluster")
    load(test, table(3, 900))
    link = visit(test, "release")
    assert not {"several", "nhat"} & set(link)
    assert control(test.radio, "own:unit").value is None
    # A sample set's number is not another set's, either.
    test = page(data="incomes", nhat=4000)
    visit(test, "wavecluster")
    checked(control(test.selectbox, "wavecluster:data").set_value("gaussians").run())
    assert "nhat" not in visit(test, "release")


@pytest.mark.parametrize("answer", ["no", "who"])
def test_who_is_protected_is_asked_and_never_assumed(page, rehearsals, answer: str) -> None:
    known = {name: value for name, value in LINK.items() if name != "several"}
    test = load(page(**known), table(0))
    assert step(test)[0] == 3
    stopped(test)
    box = control(test.radio, "own:unit")
    assert (box.label, box.value) == (
        "Can one person have several records (rows of the file)?", None,
    )  # fmt: skip
    said = " ".join(one.value for one in (*test.caption, *test.error, *test.info))
    assert "e^(3" not in said
    assert test.error[0].value.endswith("whether one person can have several records.")
    checked(box.set_value(int(answer == "who")).run())
    assert not test.error
    # The promise depends on an answer that nothing checks.
    shown = " ".join(one.value for one in (*test.caption, *test.markdown))
    assert ("You declared that no person has more than one record" in shown) == (answer == "no")
    assert ("private if your answer is true" in shown) == (answer == "no")
    assert ("several" in test.query_params) == (answer == "no")
    # A file without further columns has nobody to name.
    plain = b"lon,lat\n13.1,52.1\n"
    assert step(load(page(**known), plain))[0] == 4


ACTION = st.one_of(
    st.tuples(st.just("City"), st.sampled_from(["Berlin, Germany", "Leipzig, Sachsen, Germany"])),
    st.tuples(st.just("Width in km"), st.integers(3, 90)),
    st.tuples(st.just("lon: from, to"), st.sampled_from(["8, 9", "150.5, 151", "-3.2, -2"])),
    st.tuples(st.just("lat: from, to"), st.sampled_from(["50, 51", "-34, -33.5", "10.25, 11"])),
    st.tuples(st.just("draw"), st.sampled_from([(9.5, 53.5, 10.5, 54.0), (2.0, 48.0, 3.0, 49.0)])),
)


@example([("City", "Berlin, Germany"), ("draw", (9.5, 53.5, 10.5, 54.0)),
          ("City", "Leipzig, Sachsen, Germany"), ("Width in km", 30), ("lon: from, to", "8, 9"),
          ("draw", (9.5, 53.5, 10.5, 54.0))])  # fmt: skip
@given(st.lists(ACTION, min_size=3, max_size=5))
@settings(
    max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_map_box_and_typed_bounds_always_agree(page, rehearsals, actions: list[Any]) -> None:
    drawn: list[Any] = []
    seen: dict[str, Any] = {}

    def figure(spec: dict[str, Any], **more: Any) -> Any:
        seen.update(spec)
        return drawn.pop() if drawn else None

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data_steps, "live_figure", figure)
        test = load(page(**LINK), table(0))
        checked(control(test.segmented_control, "release:steps").set_value(2).run())
        for label, value in actions:
            boxes = [*test.selectbox, *test.number_input, *test.text_input]
            if label == "draw":
                west, south, east, north = value
                drawn.append({"x": [west, east], "y": [south, north]})
            elif not (box := next(one for one in boxes if one.label == label)).disabled:
                box.set_value(value)
            checked(test.run())
            bounds = Domain.parse(test.query_params["domain"]).bounds
            typed = [one.value for one in test.text_input if one.label.endswith(": from, to")]
            assert Domain.parse(";".join(typed)).bounds == bounds
            if label.endswith("to"):
                assert value in typed
            (shape,) = seen["layout"]["shapes"]
            assert ((shape["x0"], shape["x1"]), (shape["y0"], shape["y1"])) == bounds
            for axis, (low, high) in zip(("xaxis", "yaxis"), bounds, strict=True):
                ends = seen["layout"][axis]["range"]
                assert ends[0] <= low < high <= ends[1]
                assert abs(sum(ends) - low - high) < 0.01 * (high - low)
            if title := next(one.value for one in test.selectbox if one.label == "City"):
                at = cities()[title]
                middle = [sum(one) / 2 for one in bounds]
                assert np.allclose([at.lon, at.lat], middle, atol=0.001)


def test_a_file_is_given_at_once_and_a_person_s_column_comes_first(page) -> None:
    """The upload box is there without a click; numbers of rows and measurements are last."""
    columns = ["rental_id", "customerId", "started", "lon", "lat", "minutes", "zone"]
    rows = (f"{i},C{i % 9},2026-01-0{i % 9 + 1},12.{i:03},51.{i:03},{i},A" for i in range(90))
    test = load(page(), "\n".join([",".join(columns), *rows]).encode())
    assert test.query_params["data"] == "own"
    assert control(test.segmented_control, "release:kind").value == "own"
    asked = control(test.selectbox, "own:unit")
    names = [one.split()[1] for one in asked.options]
    assert names == ["at", "customerId", "zone", "rental_id", "started", "minutes"]
    # A sample set can be chosen while the file is there, and the file can be chosen again.
    checked(control(test.segmented_control, "release:kind").set_value("sample").run())
    assert "own" not in test.query_params.get("data", "")
    checked(control(test.segmented_control, "release:kind").set_value("own").run())
    assert any("Active: rides.csv" in one.value for one in test.caption)


def test_a_press_sends_the_text_that_is_still_typed(page, rehearsals) -> None:
    """Neither Next nor Review needs Enter first: text and press arrive together."""
    plan = {name: value for name, value in LINK.items() if name != "domain"}
    test = load(page(**plan, step=2), table(0))
    boxes = [one for one in test.text_input if one.label.endswith(": from, to")]
    for box, bounds in zip(boxes, ("13, 14", "52, 53"), strict=True):
        box.set_value(bounds)
    press(test, "Next")
    assert step(test)[0] == 3
    press(test, "Review the release")
    assert "Name the data source first." in [one.value for one in test.error]
    source_box(test.text_input).set_value("rides")
    press(test, "Review the release")
    assert has_button(test, "Debit")
    rehearsed(test)


def test_bounds_that_are_the_range_of_the_file_are_said_to_the_owner_alone(page, home) -> None:
    rows = ["13.25,52.5", "13.75,52.25", "13.5,52.75"] * 20
    content = "\n".join(["lon,lat", *rows]).encode()

    def said(domain: str) -> list[str]:
        test = load(page(**LINK | {"domain": domain}), content)
        return [one.value for one in test.warning if "smallest and the largest" in one.value]

    assert said("13,14;52,53") == said("13.25,13.8;52.2,52.75") == []
    (one,) = said("13.25,13.75;52,53")
    assert 'The bounds of "lon" are exactly' in one
    (both,) = said("13.25,13.75;52.25,52.75")
    assert '"lon", "lat"' in both
    # Public bounds may be those of the file by chance.
    assert "If you took them from the file, they reveal its extreme records" in both
    test = load(page(**LINK | {"domain": "13.25,13.75;52.25,52.75"}), content)
    checked(source_box(test.text_input).set_value("rides").run())
    press(press(test, "Review the release"), "Debit")
    (folder,) = (home / "releases").iterdir()
    assert not [one for one in folder.iterdir() if b"exactly the smallest" in one.read_bytes()]


@pytest.mark.parametrize(
    ("unit", "cap", "number", "fits"),
    [
        ("", 1, 300, True), ("", 1, 150, True), ("", 1, 600, True), ("", 1, 601, False),
        ("", 1, 149, False), ("who", 2, 250_000, False), ("who", 2, 200, True),
        ("who", 2, 201, False), ("who", 2, 25, True), ("who", 2, 24, False),
    ],
)  # fmt: skip
def test_a_public_number_that_can_t_be_that_of_the_file_is_said(
    page, unit: str, cap: int, number: int, fits: bool
) -> None:
    """Of 50 persons with 6 records each, 2 of each count. A public number may be rounded."""
    plan = LINK | ({"unit": unit, "cap": cap, "several": ""} if unit else {})
    plan = {name: value for name, value in plan.items() if value != ""} | {"step": 3}
    name = "persons" if unit else "nhat"
    test = load(page(**plan | {name: number}), table(0))
    said = [one.value for one in test.warning if "than this file has" in one.value]
    assert bool(said) != fits
    # The sentence has no number that one could type instead.
    assert all(re.findall(r"\d[\d,]*", one) == [f"{number:,}"] for one in said)
    # It is in the step of the box, so it is hidden with it.
    texts = [str(getattr(one, "value", "")) for one in test.main]
    after = texts[texts.index("### What could come out?") :]
    assert not [one for one in after if "than this file has" in one]


def test_a_column_of_rows_is_no_column_of_persons_and_the_owner_reads_it(page) -> None:
    header, *rows = table(0).decode().splitlines()
    content = "\n".join([f"{header},receipt", *(f"{row},n{at}" for at, row in enumerate(rows))])
    plan = {name: value for name, value in LINK.items() if name not in ("several", "nhat")}
    for unit, is_warned in (("who", False), ("receipt", True)):
        test = load(page(**plan | {"unit": unit, "persons": 50, "step": 5}), content.encode())
        badges = [one.value for one in test.markdown if "-badge" in one.value]
        assert any("private if your answer is true" in one for one in badges) == is_warned
        checked(source_box(test.text_input).set_value(f"rides {unit}").run())
        press(test, "Review the release")
        own = [one.value for one in test.warning if "has its own value" in one.value]
        assert bool(own) == is_warned
        # A table with one row of each person looks the same, so the sentence decides nothing.
        assert all("If each person has one row, this is right." in one for one in own)
        assert all(one.endswith("Only you see this sentence.") for one in own)


def test_a_replaced_widget_that_the_browser_sends_again_is_no_choice() -> None:
    def script() -> None:
        import streamlit as st

        from dpviz.ui.session.state import following

        session = st.session_state
        kept, sent = session.setdefault("kept", []), session.setdefault("sent", [])
        if "again" in session:
            key, changed, session[key] = (*sent[0], session.pop("again"))
            changed()
        made = following("box", session.get("value", 1), kept.append)
        sent.append((made["key"], made["on_change"]))
        st.number_input("Box", **made)

    test = AppTest.from_function(script).run()
    test.session_state["value"] = 2
    test.run()
    assert len({key for key, _ in test.session_state["sent"]}) == 2
    # The value that the old widget had, and then another value, which only a person can give.
    for value, kept in ((1, []), (3, [3])):
        test.session_state["again"] = value
        assert not test.run().exception
        assert test.session_state["kept"] == kept


def test_nothing_typed_is_lost_whatever_runs_next(page, rehearsals) -> None:
    """Each box keeps its text in runs by steps, other controls, a finished job and other pages."""
    test = load(page(**LINK | {"step": 1}), table(0))

    def box(label: str) -> Any:
        kinds = (*test.text_input, *test.number_input, *test.text_area)
        return next(one for one in kinds if one.label.startswith(label))

    def outside() -> None:
        checked(control(test.radio, "release:outside").set_value("clip").run())

    def another_page() -> None:
        visit(test, "kmeans")
        visit(test, "release")

    def expect_others() -> None:
        checked(control(test.selectbox, "release:kind of clusters").set_value("wide").run())

    typed: dict[str, Any] = {}
    runs = [
        lambda: press(test, "Next"), outside, lambda: press(test, "Next"), expect_others,
        lambda: press(test, "Next"), lambda: rehearsed(test), another_page,
        lambda: press(test, "Previous"), lambda: press(test, "Review the release"),
    ]  # fmt: skip
    texts = {
        "Title of the report": "Rides", "lon: from": "13.1, 14", "lat: from": "52.1, 53",
        "Records, about": 400, "Privacy budget ε": 0.7, "Name of the data source": "rides",
        "Lifetime budget": 2.5, "Grid g": 12, "Contact": "a@example.org",
    }  # fmt: skip
    for (label, text), run in zip(texts.items(), runs, strict=True):
        typed[label] = text
        checked(box(label).set_value(text).run())
        run()
        assert {one: box(one).value for one in typed} == typed
    assert has_button(test, "Debit")
