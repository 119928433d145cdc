"""The benchmark: sets from checkouts, peers with adapters, rows that a kill does not destroy."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.experiments.benchmark import SCORES, read
from dpviz.grid.domain import Domain
from tests.benchmarks import bench_peers, bench_utility
from tests.benchmarks.bench_peers import ADAPTERS, Peer, answers
from tests.benchmarks.bench_utility import DIGITS, FRESH, Row, facts, main, options, peers, raw
from tests.benchmarks.sets import (
    BY_NAME,
    SETS,
    BenchSet,
    MissingError,
    Mixture,
    OfRepository,
    checkout,
    contents,
    density_of,
    folder,
    grid_of,
)
from tests.support.benchmark import summarised

TOY = BenchSet(
    name="toy", title="Toy", kind="mixture", seen=True, n=60, ndim=2,
    source=Mixture(60, 2, 3, 0), credit="generated", grid=8, density=0.5, clusters=3,
)  # fmt: skip

#: A peer that returns its seed; on request, it dies or fails.
FAKE = """
import os, sys
import numpy as np
from protocol import serve

def fit(points, clusters, epsilon, seed):
    assert np.abs(points).max() <= 1
    print("a peer may print")
    if os.environ.get("FAKE_DIES") == str(seed):
        os._exit(1)
    if os.environ.get("FAKE_FAILS") == str(seed):
        raise ValueError("seed not liked")
    if os.environ.get("FAKE_SLEEPS"):
        import time
        time.sleep(60)
    return np.full((clusters, points.shape[1]), seed / 1e6)

serve(fit)
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only peer is a fake peer in this interpreter; the only set is a toy set."""
    folder = tmp_path / "adapters"
    folder.mkdir()
    shutil.copy(ADAPTERS / "protocol.py", folder)
    (folder / "fake.py").write_text(FAKE, encoding="utf-8")
    found = {"diffprivlib": Peer(adapter=folder / "fake.py", packages=())}
    monkeypatch.setattr(bench_peers, "PEERS", found)
    monkeypatch.setattr(bench_utility, "PEERS", found)
    monkeypatch.setattr(bench_utility, "SETS", (TOY,))
    monkeypatch.setattr(bench_utility, "FILE", tmp_path / "figures.json")
    monkeypatch.setattr(bench_utility, "ROWS", tmp_path / "rows.parquet")
    for name in ("FAKE_DIES", "FAKE_FAILS", "FAKE_SLEEPS", "DPVIZ_CHECKOUTS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "out"


def wanted(out: Path, *more: str) -> list[str]:
    return ["--out", str(out), "--epsilons", "0.1,1", "--jobs", "1", *more]


# ---- peers


def test_a_peer_that_died_goes_on_where_it_was(fake, monkeypatch) -> None:
    asked = options(wanted(fake, "--parts", "peers", "--seeds", "3"))
    fake.mkdir()
    monkeypatch.setenv("FAKE_DIES", str(FRESH + 1))
    notes = peers(asked, TOY, TOY.read(None))
    assert notes == ["toy: diffprivlib gave 2 of 6 runs: a peer may print"]
    before = pd.read_parquet(fake / "peers-toy.parquet")
    assert sorted(set(before["seed"])) == [FRESH]
    monkeypatch.delenv("FAKE_DIES")
    assert peers(asked, TOY, TOY.read(None)) == []
    after = pd.read_parquet(fake / "peers-toy.parquet")
    assert len(after) == 6
    kept = after.set_index("run").loc[before["run"]].reset_index()
    pd.testing.assert_frame_equal(kept, before[kept.columns])


def test_a_killed_benchmark_keeps_what_is_done(fake, monkeypatch) -> None:
    """The journal gets each row immediately, so a stop does not lose a finished row."""
    asked = options(wanted(fake, "--parts", "peers", "--seeds", "3"))
    fake.mkdir()

    def stopped(*given):
        for number, answer in enumerate(answers(*given)):
            if number == 4:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(bench_utility, "answers", stopped)
    with pytest.raises(KeyboardInterrupt):
        peers(asked, TOY, TOY.read(None))
    assert not (fake / "peers-toy.parquet").exists()
    counted = []

    def counting(rows, *given):
        counted.extend(rows)
        return answers(rows, *given)

    monkeypatch.setattr(bench_utility, "answers", counting)
    peers(asked, TOY, TOY.read(None))
    assert len(counted) == 2
    assert len(pd.read_parquet(fake / "peers-toy.parquet")) == 6


def test_a_run_that_fails_is_named_and_the_others_stay(fake, monkeypatch) -> None:
    asked = options(wanted(fake, "--parts", "peers", "--seeds", "2"))
    fake.mkdir()
    monkeypatch.setenv("FAKE_FAILS", str(FRESH))
    notes = peers(asked, TOY, TOY.read(None))
    assert notes == ["toy: diffprivlib gave 2 of 4 runs: ValueError: seed not liked"]
    assert set(pd.read_parquet(fake / "peers-toy.parquet")["seed"]) == {FRESH + 1}


@pytest.mark.exhaustive(reason="only the benchmark of maintainers has peers")
def test_a_slow_peer_is_left_out_after_its_time(fake, monkeypatch) -> None:
    asked = options(wanted(fake, "--parts", "peers", "--seeds", "1", "--patience", "1.5"))
    fake.mkdir()
    monkeypatch.setenv("FAKE_SLEEPS", "1")
    (note,) = peers(asked, TOY, TOY.read(None))
    assert note.startswith("toy: diffprivlib gave 0 of 2 runs: not done after ")


def test_a_peer_without_its_checkout_is_one_sentence(tmp_path) -> None:
    found: list[str] = []
    asked = [Row(data="toy", method="google", epsilon=1.0, seed=FRESH)]
    assert list(answers(asked, np.zeros((3, 2)), 2, tmp_path, None, 1, 9.0, found)) == []
    assert found == [
        "google gave 0 of 1 runs: google/differential-privacy needs a folder of checkouts: give "
        "--checkouts FOLDER."
    ]


def test_centres_of_a_peer_come_back_to_the_units_of_the_data(fake) -> None:
    asked = options(wanted(fake, "--parts", "peers", "--seeds", "1", "--epsilons", "1"))
    fake.mkdir()
    data = TOY.read(None)
    wide = Dataset(name="toy", points=data.points * 100 - 7, domain=Domain(((-7, 93), (-7, 93))))
    peers(asked, TOY, wide)
    (row,) = pd.read_parquet(fake / "peers-toy.parquet").to_dict("records")
    centre = 43 + 50 * FRESH / 1e6
    points = (wide.points - centre) / 100
    assert row["nicv"] == pytest.approx((points**2).sum() / len(points))


def test_a_peer_may_be_a_branch_of_a_bare_checkout(tmp_path) -> None:
    made, bare = tmp_path / "made", tmp_path / "owner+name"

    def git(*given: str | Path) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *map(str, given)], check=True, capture_output=True)

    git("init", "--initial-branch", "main", made)
    for branch in ("main", "other"):
        git("-C", made, "checkout", "-B", branch)
        (made / "code.py").write_text(branch)
        git("-C", made, "add", "code.py")
        git("-C", made, "commit", "-m", branch)
    git("-C", made, "checkout", "main")
    git("clone", "--bare", made, bare)
    for name, code in (("owner/name", "main"), ("owner/name@other", "other")):
        place = bench_peers.laid_out(tmp_path, name, tmp_path / "out")
        assert (place / "code.py").read_text() == code
    one = Peer(adapter=tmp_path, packages=(), repositories=("owner/name@other",))
    (version,) = one.version(tmp_path)
    assert re.fullmatch("owner/name@[0-9a-f]{12}", version)
    assert version != replace(one, repositories=("owner/name",)).version(tmp_path)[0]


def test_the_grid_rule_gives_centres_near_those_of_three_groups(tmp_path, monkeypatch) -> None:
    """The rule is our own program; the number of cells is that of the formula for two columns."""
    own = Peer(adapter=ADAPTERS / "adapter_rugnik.py", packages=())
    monkeypatch.setattr(bench_peers, "PEERS", {"rugnik": own})
    middles = np.array([[-0.6, -0.6], [0.0, 0.7], [0.6, -0.2]])
    noise = np.random.default_rng(0).normal(scale=0.02, size=(3000, 2))
    points = np.repeat(middles, 1000, axis=0) + noise
    notes: list[str] = []
    asked = [Row(data="toy", method="rugnik", epsilon=epsilon, seed=FRESH) for epsilon in (1, 1e-4)]
    found = list(answers(asked, points, 3, tmp_path, None, 1, 60.0, notes))
    assert [row.epsilon for row, _, _ in found] == [1]
    centres = found[0][1]
    assert np.abs(centres[np.argsort(centres[:, 0])] - middles).max() < 0.05
    assert notes == ["rugnik gave 1 of 2 runs: ValueError: the rule gives 1 cells for 3 clusters"]


# ---- the whole run


@pytest.mark.exhaustive(reason="tests/experiments/test_sweep.py resumes a sweep daily")
def test_the_whole_run_resumes_and_its_summary_is_that_of_the_rows(fake) -> None:
    given = wanted(fake, "--seeds", "2", "--methods", "privthr,eugkm")
    main([*given, "--dear-seeds", "1", "--peer-seeds", "2"])
    rows, beaten = raw(fake)
    # Rows for each epsilon: privthr, empty answer; two draws of eugkm, fixed centres, peer.
    assert rows.groupby("method").size().to_dict() == {
        "diffprivlib": 4, "eugkm": 4, "nodata": 4, "nothing": 2, "privthr": 4
    }  # fmt: skip
    assert set(beaten) == {"toy"}
    assert rows["nicv_ratio"].min() >= 1
    assert rows[rows["method"] == "privthr"]["ocm"].notna().sum() == 2
    assert (rows[rows["method"] == "nothing"]["dsg_c"] == 1).all()
    nodata = rows[rows["method"] == "nodata"].groupby("seed")["nicv_ratio"].nunique()
    assert (nodata == 1).all()
    found = read(fake / "benchmark.json")
    for cell in found.cells.to_dict("records"):
        same = rows[(rows["method"] == cell["method"]) & (rows["epsilon"] == cell["epsilon"])]
        values = same[cell["score"]].dropna()
        assert cell["draws"] == len(values)
        assert cell["mean"] == pytest.approx(values.mean(), rel=1e-3)
    assert set(SCORES) == set(found.cells["score"])
    # Rows of more seeds are added to the existing rows.
    stamp = {file: file.read_bytes() for file in fake.glob("*.parquet")}
    main([*given, "--dear-seeds", "1", "--peer-seeds", "2"])
    assert {file: file.read_bytes() for file in fake.glob("*.parquet")} == stamp
    main([*wanted(fake, "--seeds", "3", "--methods", "privthr,eugkm"), "--dear-seeds", "1"])
    more, _ = raw(fake)
    merged = more.merge(rows, on=[*rows.columns], how="inner")
    assert len(merged) == len(rows)
    assert more.groupby("method").size()["eugkm"] == 6
    # Another method is added; the existing methods are not run again.
    main(wanted(fake, "--seeds", "1", "--methods", "hybrid", "--parts", "kmeans"))
    assert raw(fake)[0].groupby("method").size()[["eugkm", "hybrid"]].tolist() == [6, 2]


def test_the_reference_is_the_best_that_any_run_led_to(tmp_path) -> None:
    pd.DataFrame(
        {
            "run": ["a", "b"], "data": "toy", "method": ["eugkm", "google"], "variant": "sound",
            "epsilon": 1.0, "seed": FRESH, "nicv": [1.1, 0.9], "nicv_ratio": [1.1, 1.0],
        }
    ).to_parquet(tmp_path / "kmeans-toy.parquet")  # fmt: skip
    rows, beaten = raw(tmp_path)
    assert rows["nicv_ratio"].tolist() == pytest.approx([1.22222, 1.0])
    assert beaten == {"toy": pytest.approx(0.1)}
    # A difference by rounding does not count as better.
    for share, told in ((0.1234, 0.12), (4.4e-16, 0.0), (-1e-3, 0.0)):
        assert facts(TOY, None, {"toy": share}, rows).beaten == told


def test_published_rows_are_kept_where_nothing_was_drawn_anew(tmp_path) -> None:
    def rows(method: str, *draws: float) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "run": [f"{method}{draw}" for draw in draws], "data": "toy", "method": method,
                "variant": "sound", "epsilon": 1.0, "seed": range(len(draws)), "dsg_c": draws,
            }
        )  # fmt: skip

    old = tmp_path / "published.parquet"
    pd.concat([rows("privqt", 0.5, 0.6), rows("privthr", 0.3, 0.2)]).to_parquet(old)
    rows("privthr", 0.1).to_parquet(tmp_path / "wavecluster-toy.parquet")
    found, _ = raw(tmp_path, old)
    assert found.groupby("method")["dsg_c"].apply(list).to_dict() == {
        "privqt": [0.5, 0.6], "privthr": [0.1]
    }  # fmt: skip
    assert len(raw(tmp_path, tmp_path / "none")[0]) == 1


def test_seeds_that_constants_were_chosen_with_are_never_published(fake) -> None:
    given = wanted(fake, "--parts", "lines", "--seeds", "1", "--first-seed", "5")
    with pytest.raises(InputError, match="publish rows of fresh seeds alone"):
        main([*given, "--publish"])
    assert not fake.with_name("figures.json").exists()


def test_published_are_the_figures_and_the_rows_that_they_come_from(fake) -> None:
    main([*wanted(fake, "--parts", "lines", "--seeds", "2"), "--publish"])
    rows = pd.read_parquet(fake.with_name("rows.parquet"))
    again = rows.assign(
        **{
            name: [float(f"{one:.{DIGITS}g}") for one in rows[name]]
            for name in SCORES
            if name in rows
        }
    )
    found = read(fake.with_name("figures.json"))
    keys = ["data", "method", "variant", "epsilon", "score"]
    pd.testing.assert_frame_equal(
        found.cells.sort_values(keys).reset_index(drop=True),
        summarised(again).sort_values(keys).reset_index(drop=True),
        check_dtype=False,
    )
    assert set(found.sets) == {"toy"}


def test_an_unknown_name_is_one_sentence() -> None:
    for option in ("--sets", "--peers", "--methods", "--parts", "--variants"):
        with pytest.raises(InputError, match='"nobody" is unknown: choose from'):
            options([option, "nobody"])
    assert {one.seen for one in options(["--sets", "unseen"]).sets} == {False}
    assert options(["--methods", "privthr"]).methods == ("privthr",)
    assert [one.name for one in options(["--sets", "a1,ds1"]).sets] == ["ds1", "a1"]


# ---- the sets


def test_sets_are_named_with_all_that_is_public() -> None:
    assert len(BY_NAME) == len(SETS)
    for one in SETS:
        assert one.families or one.ndim == 2, one.name
        assert (one.grid is None) == (one.density is None)
        assert one.credit
    for kind in ("thin", "sparse", "dense", "geographic"):
        unseen = [one for one in SETS if one.kind == kind and one.grid and not one.seen]
        assert len(unseen) >= 5, kind
    wide = {one.ndim for one in SETS if one.clusters and not one.seen}
    assert wide >= {2, 3, 4, 5, 6, 8, 16, 32, 64, 128}


def test_what_was_looked_at_is_marked() -> None:
    for one in SETS:
        source = one.source
        if isinstance(source, OfRepository):
            folder = source.file.split("/")[0]
            # All sets of this group have been used, except the set that was named last.
            known = folder == "wut" and one.name != "cross"
            known |= one.name in ("zipcodes", "airports")
            known |= folder == "g2mg" and 2 < one.ndim <= 32
            assert one.seen == known, one.name
        elif isinstance(source, Mixture):
            # Unseen mixtures have seeds that no seen mixture has.
            assert one.seen == (source.seed < 9000)
        else:
            assert one.seen, one.name
    fresh = [one for one in SETS if one.grid and not one.seen]
    assert {one.name for one in SETS if one.known} < {one.name for one in fresh}
    assert sum(not one.known for one in fresh) >= 10


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout with a work tree; its path is ``owner/name`` in the folder of checkouts."""
    place = tmp_path / "checkouts" / "owner+name" / "repo"
    place.mkdir(parents=True)
    points = "\n".join(f"{x} {x * x}" for x in range(5))
    (place / "a.data.gz").write_bytes(gzip.compress(points.encode()))
    (place / "b.csv").write_text("x,y,z\n1,2,a\n3,,b\n5,6,c\n", encoding="utf-8")
    (place / "c.json").write_text("[[1, 2, 2], [3, 4, 1]]", encoding="utf-8")
    git = ["git", "-C", str(place), "-c", "user.name=n", "-c", "user.email=e"]
    for more in (["init", "-q"], ["add", "."], ["commit", "-qm", "files"]):
        subprocess.run([*git, *more], check=True, capture_output=True)
    return place


@pytest.mark.parametrize("bare", [False, True])
def test_sets_come_from_a_checkout(repository, tmp_path, bare) -> None:
    folder = repository.parents[1]
    if bare:
        folder = tmp_path / "bare"
        folder.mkdir()
        subprocess.run(
            ["git", "clone", "-q", "--bare", str(repository), str(folder / "name")], check=True
        )
    points = OfRepository("owner/name", "a.data.gz").read(folder).points
    assert sorted(points.tolist()) == [[x, x * x] for x in range(5)]
    points = OfRepository("owner/name", "b.csv", ("y", "x")).read(folder).points
    assert sorted(points.tolist()) == [[2, 1], [6, 5]]
    points = OfRepository("owner/name", "c.json", (0, 1), 2).read(folder).points
    assert sorted(points.tolist()) == [[1, 2], [1, 2], [3, 4]]
    with pytest.raises(MissingError, match=r"has no d\.csv"):
        contents(folder, "owner/name", "d.csv")
    assert bench_peers.laid_out(folder, "owner/name", tmp_path / "out").joinpath("b.csv").exists()


def test_what_is_missing_says_so(tmp_path) -> None:
    with pytest.raises(MissingError, match="give --checkouts"):
        checkout(None, "owner/name")
    with pytest.raises(MissingError, match="no checkout of owner/name"):
        checkout(tmp_path, "owner/name")
    with pytest.raises(MissingError, match="another version"):
        replace(TOY, n=61).read(None)


def test_the_box_is_the_range_of_the_records(repository) -> None:
    one = replace(TOY, n=5, source=OfRepository("owner/name", "a.data.gz"))
    assert one.read(repository.parents[1]).domain.bounds == ((0, 4), (0, 16))


def test_the_rules_need_no_noise() -> None:
    assert [grid_of(n) for n in (100, 5_000, 30_000, 10**6)] == [32, 32, 88, 128]
    data = TOY.read(None)
    classes = (data.points[:, 0] > np.median(data.points[:, 0])).astype(int)
    assert density_of(data, classes, 8) == density_of(data, classes, 8)


def test_no_two_sets_are_of_the_same_columns() -> None:
    """Otherwise the second set would not be new, and the same data would be used twice."""
    found = [one.source for one in SETS if isinstance(one.source, OfRepository)]
    assert len({(one.repository, one.file, one.columns) for one in found}) == len(found)


@pytest.mark.skipif(folder(None) is None, reason="no folder of checkouts is named")
def test_no_fresh_set_shares_records_with_another_one() -> None:
    """Share at most a fifth of the smaller set's distinct records, in raw or rescaled units."""
    found: dict[str, list[set[tuple[float, ...]]]] = {}
    for one in SETS:
        if one.ndim != 2:
            continue
        try:
            points = one.read(folder(None)).points
        except MissingError:
            continue
        scaled = (points - points.min(axis=0)) / np.ptp(points, axis=0)
        found[one.name] = [
            set(map(tuple, np.round(places, 6)[:, ::step].tolist()))
            for places in (points, scaled)
            for step in (1, -1)
        ]
    known = {one.name for one in SETS if one.seen or "wavecluster" in one.known}
    fresh = [one.name for one in SETS if one.grid and one.name not in known]
    for first, second in product(fresh, found):
        if first in found and first != second:
            for at, other in ((0, 0), (0, 1), (2, 2), (2, 3)):
                one, two = found[first][at], found[second][other]
                assert len(one & two) <= 0.2 * min(len(one), len(two)), (first, second)
