"""The diagnosis of a broken cluster on the screen: figure, table, and the panel in AppTest."""

import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.data.samples import load_sample, sample
from dpviz.figures.diagnosis import COLUMNS, STAGE_TITLES, diagnosis_panels, fates_frame, frame
from dpviz.figures.raster import Raster
from dpviz.figures.theme import INK
from dpviz.figures.wavecluster import WaveClusterPicture
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.diagnosis import RUNS, count_retained, diagnostics_of, in_words
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run, true_config
from tests.support.controls import control
from tests.support.links import opened as explorer


def told(name="spirals", method="privqt", epsilon=0.5, seed=0, mode="light"):
    about, dataset = sample(name), load_sample(name)
    config = Config(method=method, grid=about.grid, density=about.density, epsilon=epsilon)
    source, fine = (Source.build(dataset, side) for side in (about.grid, 2 * about.grid))
    truth, finer = (Truth(one, true_config(config)) for one in (source, fine))
    private = run(source, config, SeededNoise(seed)).stages
    scene = WaveClusterPicture(
        truth=truth,
        private=private,
        raster=Raster.of_source(source),
        columns=dataset.columns,
        mode=mode,
        title="a · b",
    )
    return scene, diagnostics_of(truth, private, config, seed, finer), config


#: A run on a sample, a cluster, and the stage that breaks this cluster.
CASES = [
    (("incomes", "privthr", 1.0), 1, "grid"),
    (("spirals", "privqt", 0.1), 1, "counts"),
    (("spirals", "privqt", 0.5), 1, "threshold"),
    (("spirals", "privthr", 5.0), 1, None),
]


#: Title of the panel that is marked for a stage.
HEADINGS = {"grid": "Count grid", "counts": "Count grid", "threshold": "Significant cells"}


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(("case", "cluster", "stage"), CASES)
def test_the_first_stage_that_parts_is_marked_by_frame_and_words(case, cluster, stage, mode):
    scene, diagnostics, _ = told(*case, mode=mode)
    found = diagnostics.diagnose(cluster)
    assert found.stage == stage
    shown = diagnosis_panels(scene, found)
    layout = shown.layout
    assert isinstance(shown.figure(), go.Figure)
    assert shown.alt.startswith(f"a · b. Cluster {cluster} and its surroundings at all stages")
    shapes = layout.get("shapes", [])
    marks = [one["text"] for one in layout["annotations"] if "▼" in one["text"]]
    if stage is None:
        assert (shapes, marks) == ([], [])
        assert shown.alt.endswith("It is kept.")
        return
    (shape,) = shapes
    column = COLUMNS[stage] + 1
    left, right = layout["xaxis" + ("" if column == 1 else str(column))]["domain"]
    assert shape["x0"] < left < right < shape["x1"]
    # The frame contains both rows of this column, and no other column.
    assert right - left < shape["x1"] - shape["x0"] < right - left + 0.05
    assert shape["y0"] < layout[f"yaxis{column + 4}"]["domain"][0]
    assert shape["line"]["color"] == INK[mode]
    headings = [
        one["text"]
        for one in layout["annotations"]
        if one["xref"] == f"x{'' if column == 1 else column} domain"
    ]
    assert headings == [f"{HEADINGS[stage]} · true"]
    assert marks == [f"<b>▼ first differs here: {STAGE_TITLES[stage]}</b>"]
    assert shown.alt.endswith(f"the runs first differ at {STAGE_TITLES[stage]}.")


def test_one_cell_is_ringed():
    scene, diagnostics, _ = told("gaussians", "privqt", 0.5)
    found = next(
        one for one in map(diagnostics.diagnose, range(1, 16)) if one.stage == "components"
    )
    assert found.cell is not None
    rings = [
        one
        for one in diagnosis_panels(scene, found).data
        if one["type"] == "scatter" and one.get("marker", {}).get("size") == 22
    ]
    assert {one["xaxis"] for one in rings} == {"x3", "x4", "x7", "x8"}
    domain, shape = scene.domain, scene.true.average.shape
    for one in rings:
        index = [
            int((at - low) / (high - low) * side)
            for at, (low, high), side in zip(
                (one["x"][0], one["y"][0]), domain.bounds, shape, strict=True
            )
        ]
        assert tuple(index) == found.cell
    assert scene.true.significant[found.cell] != scene.private.significant[found.cell]


@pytest.mark.parametrize(("name", "cluster"), [("gaussians", 4), ("spirals", 2), ("shapes", 5)])
def test_the_cluster_is_outlined_and_all_panels_show_its_surroundings(name, cluster):
    scene, diagnostics, _ = told(name)
    shown = diagnosis_panels(scene, diagnostics.diagnose(cluster))
    inside = scene.true.labels == cluster
    width = (scene.domain.highs - scene.domain.lows) / inside.shape
    lows = scene.domain.lows + np.argwhere(inside).min(axis=0) * width
    highs = scene.domain.lows + (np.argwhere(inside).max(axis=0) + 1) * width
    for axis, low, high in zip("xy", lows, highs, strict=True):
        ranges = {tuple(shown.layout[f"{axis}axis{n}"]["range"]) for n in ("", *range(2, 9))}
        ((first, last),) = ranges
        assert first <= low < high <= last
        bounds = scene.domain.bounds["xy".index(axis)]
        assert bounds[0] <= first < last <= bounds[1]
    lines = [one for one in shown.data if one.get("mode") == "lines"]
    assert {one["xaxis"] for one in lines} == {"x", *(f"x{n}" for n in range(2, 9))}
    # The line is the border: it is as long as all sides between a cell of the cluster and another
    # cell, and each of its parts is such a side.
    border = sum(
        np.count_nonzero(np.diff(np.pad(inside, 1).astype(int), axis=axis)) for axis in (0, 1)
    )
    ends = np.stack([np.asarray(lines[-1][axis]).reshape(-1, 3) for axis in "xy"], axis=2)
    assert np.isnan(ends[:, 2]).all()
    corners = (ends[:, :2] - scene.domain.lows) / width
    assert np.allclose(corners, np.rint(corners))
    begins, stops = np.rint(corners).astype(int).swapaxes(0, 1)
    assert np.abs(stops - begins).sum() == border
    cells = np.pad(inside, 1)
    for begin, length in zip(begins, stops - begins, strict=True):
        assert (length == 0).sum() == 1
        along = np.sign(length)
        for step in range(length.sum()):
            column, row = begin + step * along
            # Of the two cells beside the border, exactly one is inside the cluster.
            other = (column, row - 1) if along[0] else (column - 1, row)
            assert cells[column + 1, row + 1] != cells[other[0] + 1, other[1] + 1]


def test_another_cluster_starts_with_a_zoom_of_its_own():
    scene, diagnostics, _ = told("shapes")
    one, other = (
        diagnosis_panels(scene, diagnostics.diagnose(n)).layout["uirevision"] for n in (1, 2)
    )
    assert one != other


def test_the_table_behind_is_the_cells_around_the_cluster():
    scene, diagnostics, _ = told("gaussians", "privthrem", 0.1)
    found = diagnostics.diagnose(3)
    table = frame(scene, found)
    inside = table.pop("in cluster 3")
    assert list(table.columns) == [
        *scene.columns, "true records", "private records", "true average", "private average",
        "true significant", "private significant", "true cluster", "private cluster",
    ]  # fmt: skip
    assert inside.sum() == found.cells
    assert (table["true cluster"][inside] == 3).all()
    assert table["true records"][inside].sum() == scene.truth.records[scene.true.labels == 3].sum()
    # The Haar average is half the sum of four counts.
    assert np.allclose(table["true average"], table["true records"] / 2)
    assert np.allclose(table["private average"], table["private records"] / 2)
    assert len(table) < scene.true.labels.size
    layout = diagnosis_panels(scene, found).layout
    for name, axis in zip(scene.columns, ("xaxis", "yaxis"), strict=True):
        low, high = layout[axis]["range"]
        assert table[name].between(low, high).all()


def test_the_table_of_what_would_have_kept_it():
    scene, diagnostics, config = told("spirals", "privqt", 0.5)
    found, draws = diagnostics.diagnose(1), count_retained(scene.truth, config, range(3))
    table = fates_frame(found, draws)
    assert list(table["this draw"]) == ["joined with others", "kept"] + ["joined with others"] * 2
    assert list(table["kept in 3 draws"]) == [0, 3, 0, 0]
    assert [one.lower() for one in table["run"]] == list(RUNS.values())
    assert table["overlap"][1] == found.runs["true_threshold"].overlap
    assert list(fates_frame(found).columns) == ["run", "this draw", "overlap"]


# -- the panel ---------------------------------------------------------------------------


def page() -> None:
    """The explorer's controls, and only this panel."""
    import streamlit as st

    from dpviz.figures.wavecluster import WaveClusterPicture
    from dpviz.ui.explorer.diagnosis import diagnosis_panel
    from dpviz.ui.explorer.settings import run_settings
    from dpviz.ui.explorer.wavecluster import WaveClusterExplorer as Explorer
    from dpviz.wavecluster.family import FAMILY

    state = Explorer.page_state()
    active = Explorer.sidebar(state)
    settings, _ = run_settings(state, active, FAMILY, curves=False)
    runs = Explorer.run_both(settings)
    st.session_state["told"] = runs
    scene = WaveClusterPicture(
        truth=runs.truth,
        private=runs.private.stages,
        raster=runs.grid.raster,
        columns=active.dataset.columns,
        title="a · b",
    )
    diagnosis_panel(settings, scene)
    state.write()


@pytest.fixture
def opened():

    def start(panel=True, **link) -> AppTest:
        test = AppTest.from_function(page, default_timeout=60)
        test.session_state["wavecluster:diagnosis"] = panel
        for name, value in link.items():
            test.query_params[name] = str(value)
        test.run()
        assert not test.exception, test.exception
        return test

    return start


def select(test: AppTest):
    return next(one for one in test.selectbox if one.label == "True cluster")


def figures(test: AppTest) -> list[dict]:
    raw = [
        one.proto.bytes
        for one in test.get("bidi_component")
        if one.proto.component_name == "dpviz_live_figure"
    ]
    return [json.loads(one[4 : 4 + int.from_bytes(one[:4], "little")]) for one in raw]


def said(test: AppTest) -> str:
    return next(one.value for one in test.markdown if one.value.startswith("Cluster "))


def test_a_closed_panel_computes_nothing(opened):
    test = opened(panel=False, data="spirals", method="privqt")
    assert figures(test) == []
    assert "wavecluster:diagnosis draws" not in test.session_state


@pytest.mark.parametrize("method", ["wavecluster", "privthr"])
def test_without_noise_there_is_no_panel(method):
    test = explorer("wavecluster", {"method": method})
    panels = [one for one in test.expander if one.label == "What broke this cluster?"]
    assert len(panels) == (method != "wavecluster")


def test_it_opens_on_the_first_broken_cluster_and_tells_of_it(opened):
    test = opened(data="gaussians", method="privqt", epsilon="0.5")
    scene, diagnostics, config = told("gaussians", "privqt", 0.5)
    first = int(np.argmin(diagnostics.retained)) + 1
    assert first > 1
    assert select(test).value == first
    marks = [one.split(" · ")[2] for one in select(test).options]
    assert marks == ["✓ kept" if one else "✗ broken" for one in diagnostics.retained]
    draws = count_retained(scene.truth, config, range(20))
    assert said(test) == in_words(diagnostics.diagnose(first), draws)
    (head,) = figures(test)
    assert head["alt"].startswith(diagnosis_panels(scene, diagnostics.diagnose(first)).alt)
    (table,) = [one.value for one in test.dataframe]
    pd.testing.assert_frame_equal(table, fates_frame(diagnostics.diagnose(first), draws))


def test_the_chosen_cluster_stays_until_the_data_changes(opened):
    test = opened(data="gaussians", method="privqt", epsilon="0.5")
    select(test).set_value(12).run()
    assert said(test).startswith("Cluster 12 ")
    before = select(test).options[11]
    control(test.selectbox, "wavecluster:method").set_value("privthr").run()
    for _ in range(2):  # a lost choice would be visible one run later
        assert select(test).value == 12
        assert said(test).startswith("Cluster 12 is kept")
        test.run()
    assert select(test).options[11] != before
    for panel in (False, True):
        test.session_state["wavecluster:diagnosis"] = panel
        test.run()
    assert select(test).value == 12
    control(test.selectbox, "wavecluster:data").set_value("spirals").run()
    assert len(select(test).options) == test.session_state["told"].truth.stages.n_clusters == 3
    select(test).set_value(3).run()
    control(test.selectbox, "wavecluster:data").set_value("shapes").run()
    assert select(test).value == 1
    assert not test.exception


def test_draws_are_counted_once_per_setting(opened, monkeypatch):
    import dpviz.ui.explorer.diagnosis as ui

    counted = []
    monkeypatch.setattr(
        ui, "count_retained", lambda *given: counted.append(given) or count_retained(*given)
    )
    test = opened(data="spirals", method="privqt")
    assert len(counted) == 1
    select(test).set_value(2).run()
    assert said(test).startswith("Cluster 2 ")
    assert len(counted) == 1
    control(test.selectbox, "wavecluster:method").set_value("privthr").run()
    assert len(counted) == 2


def test_downloads_say_what_they_are(opened):
    test = opened(data="spirals", method="privthrem", epsilon="0.1")
    names = [one.proto.label for one in test.get("download_button")]
    assert names == ["What would have kept the cluster (CSV)", "Cells around the cluster (CSV)"]
    assert figures(test)[0]["base_name"].startswith("dpviz exploration privthrem")


def test_a_grid_of_counts_has_no_finer_one(opened, monkeypatch):
    import dpviz.ui.explorer.diagnosis as ui

    finer = []
    monkeypatch.setattr(
        ui, "diagnostics_of", lambda *given: finer.append(given[-1]) or diagnostics_of(*given)
    )
    test = opened(data="spirals")
    assert finer[-1].source.shape == (80, 80)
    control(test.selectbox, "wavecluster:data").set_value("own").run()
    control(test.toggle, "own:counts").set_value(True).run()
    counts = np.zeros((16, 16), dtype=int)
    counts[2:6, 2:6] = counts[10:14, 10:14] = 9
    content = "\n".join(",".join(map(str, row)) for row in counts.tolist()).encode()
    test.file_uploader(key="own:file").set_value(("counts.csv", content, "text/csv"))
    test.run()
    assert not test.exception
    assert len(select(test).options) == 2
    assert finer[-1] is None
