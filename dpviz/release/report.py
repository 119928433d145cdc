"""The report of a release: one page that any reader can follow, and that needs no other file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpviz.release.formatting import cut, escape, fixed, number
from dpviz.release.tables import (
    ClusterFacts,
    Document,
    cluster_facts,
    counting_step,
    margin,
    run_line,
)

#: Names of parameters for people.
_PARAMETERS = {
    "grid": "cells per column",
    "density": "density p (share of the blocks with a positive value that are not dense enough)",
    "wavelet": "wavelet that smooths the counts",
    "level": "level (each halves the grid)",
    "alpha": "share of ε for the counts (alpha)",
    "synopsis": "private summary that the counts were drawn from",
    "clusters": "number of clusters",
    "iterations": "iterations",
    "start": "where the centres started",
    "schedule": "how ε was split over the iterations",
    "geometry": "shape that the records were scaled into",
    "temperature": "temperature of the Markov chain",
}

#: What the steps of the methods put noise on, in plain words; by the first words of their names.
_STEPS = {
    "counts": "number of records in every cell",
    "nonpositive": "number of blocks with no positive value",
    "threshold": "the limit from which on a block is dense",
    "records": "number of records in all",
    "cells: records": "number of records in all",
    "start: records": "number of records in all",
    "contours: records": "number of records in all",
    "cells": "number of records in the cells of a grid",
    "start": "number of records in the cells of a grid, from which the start was drawn",
    "contours": "number of records in the cells of a grid",
    "partition": "number and sums of the records of each set that a centre started from",
    "iteration": "number and sums of the records nearest to each centre",
    "generation": "choice of the better sets of centres",
    "centers": "sums of the centres that disjoint parts of the data have",
    "first level": "number of records in the cells of a coarse grid",
    "second level": "number of records in the cells of a finer grid",
    "grid": "number of records in the cells of a grid",
    "coefficients": "sums and differences of the numbers of records in the cells of a grid",
    "depth": "number of records in the squares of one size",
}

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1f24; --soft: #55606b; --ground: #ffffff;
  --card: #f4f6f8; --line: #d4dae0; --mark: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecf0; --soft: #a8b3bd; --ground: #14181d;
  --card: #1e242b; --line: #3a434c; --mark: #56b4e9; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 54rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, ul, dl { margin: .5rem 0; }
ul { padding-left: 1.25rem; }
.by, figcaption, .note { color: var(--soft); font-size: .9rem; }
.promise { border-left: 4px solid var(--mark); background: var(--card); padding: .75rem 1rem;
  margin: 1rem 0; }
figure { margin: 1.25rem 0; }
figure svg { display: block; max-width: 100%; height: auto; background: #ffffff;
  border: 1px solid var(--line); border-radius: 6px; }
.wide { overflow-x: auto; margin: .75rem 0; }
.long { max-height: 30rem; overflow-y: auto; border: 1px solid var(--line); }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); }
thead th { background: var(--card); position: sticky; top: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.n { white-space: nowrap; } .ledger td.n { white-space: normal; }
td:not(.n) { min-width: 6rem; } td:nth-child(2):not(.n) { min-width: 13rem; }
dl { display: grid; grid-template-columns: minmax(8rem, 2fr) 3fr; gap: .25rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
@media print { :root { color-scheme: light; --ink: #000000; --soft: #444444; --ground: #ffffff;
  --card: #f4f6f8; --line: #bbbbbb; --mark: #0072b2; }
  body { max-width: none; padding: 0; font-size: 10pt; } .long { max-height: none; border: 0; }
  thead th { position: static; } h2, h3 { break-after: avoid; }
  figure, tr { break-inside: avoid; } }
"""


def page(document: Document, pictures: Mapping[str, bytes], names: Mapping[str, str]) -> bytes:
    """Write the report.

    Parameters
    ----------
    document
        The release.
    pictures
        Files made so far, with the maps among them where there are any.
    names
        Name of every file of the bundle, and what it is.

    Returns
    -------
    bytes
        HTML that is well-formed XML too.
    """
    title = document["title"] or "A differentially private clustering"
    facts = cluster_facts(document)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="by">A private clustering by {escape(run_line(document))}. Every number '
        "that was computed from the data carries random noise, which protects those who are in "
        "it.</p>",
        _shown(document, facts),
        *_maps(document, pictures),
        _clusters(document, facts),
        _promise(document),
        _accuracy(document),
        _making(document),
        _ledger(document),
        _missing(),
        _bundle(document, names),
    ]
    return (
        '<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="en">\n<head>\n'
        '<meta charset="utf-8"/>\n'
        # A second wall behind the escaping: the page may load nothing, whatever stands in it.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    ).encode()


def _shown(document: Document, facts: Sequence[ClusterFacts]) -> str:
    """What the release shows, in a few sentences."""
    result = document["result"]
    columns = _listed([f"<b>{escape(name)}</b>" for name in document["domain"]["columns"]])
    many = _count(len(facts), "cluster")
    if result["kind"] == "cells":
        shape = _value(document["parameters"]["grid"])
        counted = (
            "The records in each cell were counted, and random noise was added to every count."
            if counting_step(document)
            else "Numbers of records got random noise, and the count of each cell was computed "
            "from these noisy numbers."
        )
        block = _value([result["block"]] * len(document["domain"]["columns"]))
        found = (
            f"Blocks of {block} cells that are dense enough were then joined with dense "
            f"neighbours, corners included: {many} came out, from "
            f"{_count(result['significant'], 'dense block')}."
            if facts
            else f"No block of {block} cells is dense enough, so no cluster was found."
        )
        return _section(
            "What this shows",
            f"<p>The records of a table were placed by their values of {columns}. A grid of "
            f"{shape} cells was laid over them. {counted} {found}</p>",
        )
    return _section(
        "What this shows",
        f"<p>The records of a table were sorted into {many} by their values of {columns}. Each "
        "cluster has a centre, and a record belongs to the centre nearest to it. The centres "
        "were found from numbers that carry random noise, so they are near the best ones but not "
        "exactly there.</p>",
    )


def _maps(document: Document, pictures: Mapping[str, bytes]) -> list[str]:
    """Maps with captions, where there are two columns."""
    captions = {
        "counts.svg": (
            "The noisy counts. White is zero. A count below zero (brown) is not an error: noise "
            "goes both ways. Single faint squares are mostly noise; patterns over many squares are "
            "mostly data."
        ),
        "clusters.svg": (
            "The clusters. Numbers are those of the table below. A cluster is an area: it says "
            "nothing about any single record in it."
            if document["result"]["kind"] == "cells"
            else "The centres (dots), and around each the area that is nearest to it when both "
            "columns are scaled to the same length. The areas fill the whole domain, also where "
            "there are no records."
        ),
    }
    return [
        f"<figure>\n{pictures[name].decode()}<figcaption>{caption}</figcaption></figure>"
        for name, caption in captions.items()
        if name in pictures
    ]


def _clusters(document: Document, facts: Sequence[ClusterFacts]) -> str:
    """Table of the clusters."""
    if not facts:
        return ""
    columns = document["domain"]["columns"]
    step = counting_step(document)
    counted = facts[0].count is not None
    heads = ["cluster"]
    of_cells = facts[0].center is None
    sides = document["parameters"]["grid"] if of_cells else [100] * len(columns)
    spacings = [
        (hi - lo) / side for (lo, hi), side in zip(document["domain"]["bounds"], sides, strict=True)
    ]
    heads += ["dense blocks"] if of_cells else []
    heads += ["records (noisy)"] if counted else []
    heads += ["error up to"] if step else []
    heads += [cut(name, 40) for name in columns]
    rows = []
    for one in facts:
        row = [str(one.number)]
        row += [f"{one.cells:,}"] if of_cells else []
        row += [number(round(one.count))] if one.count is not None else []
        row += [f"± {margin(step['scale'], one.counted):,}"] if step else []
        row += [
            f"{fixed(lo, spacing)} to {fixed(hi, spacing)}"
            for (lo, hi), spacing in zip(one.extents or (), spacings, strict=False)
        ]
        row += [
            fixed(value, spacing)
            for value, spacing in zip(one.center or (), spacings, strict=False)
        ]
        rows.append(row)
    notes = []
    if step:
        notes.append("In 95% of cases noise changes a number by less than “error up to”.")
    elif counted:
        notes.append(
            "The numbers were computed from noisy ones; no single bound holds for their error."
        )
    if step and of_cells:
        notes.append(
            "That holds for any area that is chosen without looking. These were chosen for their "
            "high noisy counts, so their numbers lean upwards: a cluster whose number is not "
            "several times its error may be nothing but noise."
        )
    elif step:
        notes.append(
            "Records were counted in the last step, before the centres moved to these places."
        )
    return _section(
        "The clusters",
        _table(heads, rows, name="clusters", kind="long" if len(rows) > 30 else "")
        + (f'<p class="note">{" ".join(notes)}</p>' if notes else ""),
    )


def _promise(document: Document) -> str:
    """What is promised to whom."""
    privacy = document["privacy"]
    person = privacy["unit"] == "person"
    who = "person" if person else "record"
    if privacy["neighbours"] == "add_remove":
        pair = f"two data sets that are alike, except that one {who} is in only one of them"
        public = ""
    else:
        pair = f"two data sets that are alike, except that one {who} is exchanged for another"
        public = f" The number of {who}s in the data is taken as public."
    if person:
        most = _count(privacy["cap"], "record")
        unit = (
            f"The promise is made to each person: of each, at most {most} took part, and all of "
            "these are protected together."
        )
    else:
        unit = (
            "The promise is made to each record by itself. Who has several records in the data is "
            "protected less: for m records the factor is multiplied with itself m times."
        )
    return _section(
        "What is promised",
        f'<p class="promise">{escape(privacy["odds"])}</p>'
        "<p>“Any result” means all that is published here, and all that anybody could conclude "
        "from it, with whatever else they know. This is called differential privacy, and ε "
        "(epsilon) is its measure: the smaller it is, the less can be told from the result about "
        f"any one {who}.</p>"
        f"<ul><li>The promise compares {pair}.{public}</li><li>{unit}</li>"
        "<li>It covers this release. Another release from the same data comes on top: the ε of "
        "both add up.</li>"
        "<li>It does not hide what is true of many: that there is a cluster at some place is the "
        "result, and most likely it would be there without any one of its records.</li></ul>",
    )


def _accuracy(document: Document) -> str:
    """What the noise means for the numbers."""
    step = counting_step(document)
    of_cells = document["result"]["kind"] == "cells"
    if step is None:
        return _section(
            "How exact it is",
            "<p>Noise was added to the numbers in the ledger below, and the result was computed "
            "from these. Its error has no single size: it is small where many records decide "
            "about a number, and large where few do. Made again, the result would come out "
            "somewhat different.</p>",
        )
    scale = step["scale"]
    one, ten, hundred = (margin(scale, counted) for counted in (1, 10, 100))
    what = "cell" if of_cells else "cluster"
    upto = "up to " if step["composition"] == "parallel" else ""
    text = (
        f"<p>Each {what}’s count got random noise of scale {upto}{number(scale, 4)} (discrete "
        f"Laplace noise: as often too high as too low, small more often than large). A single "
        f"count is within <b>±&#160;{one:,}</b> of the true one in 95% of cases.</p>"
    )
    if of_cells:
        text += (
            f"<p>Added up, errors partly cancel: the sum of 10 counts is within about "
            f"±&#160;{ten:,}, that of 100 within about ±&#160;{hundred:,}. "
            f"{_total(document, scale)} "
            "Read single cells with care, and trust sums over areas more.</p>"
            "<p>Noise can also join two clusters, split one, or make one up. The fewer records a "
            "cluster has, the less it proves.</p>"
        )
    else:
        text += (
            "<p>The same noise went to the sums that the centres are computed from: the centre of "
            "a cluster with many records is nearly exact, that of one with few may be far off.</p>"
        )
    return _section("How exact it is", text)


def _total(document: Document, scale: float) -> str:
    """Sum of all noisy counts, with its error."""
    counts = list(_leaves(document["result"]["counts"]))
    return (
        f"All {len(counts):,} counts together make {number(sum(counts))} "
        f"±&#160;{margin(scale, len(counts)):,} records."
    )


def _leaves(values: Any) -> Iterable[float]:
    """Numbers of a nested list."""
    for value in values:
        if isinstance(value, list):
            yield from _leaves(value)
        else:
            yield value


def _making(document: Document) -> str:
    """Method, parameters and domain."""
    method, domain, result = document["method"], document["domain"], document["result"]
    chosen = [(_PARAMETERS[name], _value(value)) for name, value in document["parameters"].items()]
    if result["kind"] == "cells":
        limit = result["threshold"]
        chosen.append(
            (
                "smallest smoothed value of a dense block",
                "none: no block has a positive value" if limit is None else number(limit),
            )
        )
    bounds = [
        (escape(name), f"{number(lo, 12)} to {number(hi, 12)}")
        for name, (lo, hi) in zip(domain["columns"], domain["bounds"], strict=True)
    ]
    return _section(
        "How it was made",
        f"<p><b>{escape(method['title'])}</b> ({escape(method['paper'])}; "
        f"{escape(method['algorithm'])}). {escape(method['summary'])}</p>"
        f"<h3>Why the promise holds</h3><p>{escape(method['proof'])} {_wider(document)}</p>"
        "<h3>Choices</h3><p>These are taken for public: they were chosen without looking at this "
        "data, as far as the promise goes. Choices that were made by looking at true results of "
        "the same data tell something too, and no noise covers that.</p>"
        + _pairs([(escape(name), value) for name, value in chosen])
        + "<h3>Domain</h3><p>These bounds were declared by the owner of the data, who vouches that "
        f"they are known without it. {_OUTSIDE[domain['outside']]} That there is a release does "
        "not tell that there was a record inside.</p>" + _pairs(bounds),
    )


#: What became of records outside of the domain.
_OUTSIDE = {
    "clip": "Records outside were moved to the nearest bound; how many there were is private.",
    "drop": "Records outside were left out; how many there were is private.",
    "counted": (
        "The records had been counted in the cells before; what became of those outside was "
        "decided then."
    ),
}


def _wider(document: Document) -> str:
    """How much wider the noise is than for one record, where it is."""
    privacy = document["privacy"]
    records = privacy["cap"] * (2 if privacy["neighbours"] == "replace_one" else 1)
    if records == 1:
        return ""
    return (
        f"That is for one record that comes or goes; here data sets differ by up to {records}, so "
        f"the largest change of every step, and with it the noise, is {records} times as large."
    )


def _ledger(document: Document) -> str:
    """Every use of the budget."""
    privacy = document["privacy"]
    heads = ["step", "what got noise", "how", "ε", "largest change", "scale", "ε by OpenDP"]
    rows = []
    for spends in _grouped(privacy["ledger"]):
        first = spends[0]
        what = _step(first["step"])
        if first["composition"] == "parallel":
            what += f" ({_count(len(spends), 'part')} with different records; the largest ε counts)"
        ranges = (
            _range([spend[key] for spend in spends])
            for key in ("epsilon", "sensitivity", "scale", "certified")
        )
        rows.append([escape(first["step"]), what.strip(), escape(first["mechanism"]), *ranges])
    unit = "person" if privacy["unit"] == "person" else "record"
    scaled = (
        "Sums are of values scaled to the range from -1 to 1. "
        if document["method"]["family"] == "kmeans"
        else ""
    )
    return _section(
        "The ledger: what the promise cost",
        f"<p>ε = {number(privacy['epsilon'])} was the whole budget. Each step that looked at the "
        "data took a share of it; everything else was computed from the noisy answers, which "
        "costs nothing.</p>"
        + _table(heads, rows, numbers_from=3, name="ledger", kind="ledger")
        + f'<p class="note">Largest change: how much one {unit} can change the exact values, all '
        "changes added up. Scale: size of the noise, which is the largest change divided by ε "
        f"(twice that for a choice whose scores may move either way). {scaled}Discrete Laplace is "
        "noise on numbers; permute and flip is a random choice that prefers the better "
        "candidates.</p>"
        f"<p>All steps together: OpenDP certifies ε = {number(privacy['certified'], 9)}. "
        f"{escape(privacy['map'])}</p>",
    )


def _grouped(ledger: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Spends by step: parts of one step that touch different records belong together."""
    steps: dict[object, list[Mapping[str, Any]]] = {}
    for place, spend in enumerate(ledger):
        key = spend["step"] if spend["composition"] == "parallel" else place
        steps.setdefault(key, []).append(spend)
    return list(steps.values())


def _missing() -> str:
    """What a reader may look for in vain."""
    return _section(
        "What is not in here",
        "<ul><li>No record, no true count, and not the number of records.</li>"
        "<li>No comparison with the clustering that the data would give without noise: it would "
        "tell about the data past the promise.</li>"
        "<li>No seed: the noise came from the computer’s own source of chance and can’t be drawn "
        "again, neither to check it nor to take it off.</li></ul>",
    )


def _bundle(document: Document, names: Mapping[str, str]) -> str:
    """Files and versions."""
    about = _pairs([(f"<code>{escape(name)}</code>", escape(text)) for name, text in names.items()])
    software = document["software"]
    return _section(
        "The files",
        f'{about}<p class="note">Made by dpviz {escape(software["dpviz"])} with OpenDP '
        f"{escape(software['opendp'])}.</p>",
    )


def _section(heading: str, content: str) -> str:
    """One part of the page."""
    return f"<section>\n<h2>{heading}</h2>\n{content}\n</section>"


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers_from: int = 0,
    name: str,
    kind: str = "",
) -> str:
    """Table whose cells are HTML already and whose heads are not."""

    def line(tag: str, cells: Sequence[str]) -> str:
        looks = (' class="n"' if i >= numbers_from else "" for i in range(len(cells)))
        return "".join(
            f"<{tag}{look}>{cell}</{tag}>" for look, cell in zip(looks, cells, strict=True)
        )

    body = "\n".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    # What scrolls must be reachable by keyboard.
    return (
        f'<div class="wide {kind}" tabindex="0" role="region" aria-label="{name}">'
        "<table>"
        f"<thead><tr>{line('th', [escape(head) for head in heads])}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what belongs to them, both HTML already."""
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in pairs) + "</dl>"


def _value(value: Any) -> str:
    """Parameter as a person writes it."""
    if isinstance(value, list):
        return "&#160;×&#160;".join(str(item) for item in value)
    return escape(value.replace("_", " ") if isinstance(value, str) else number(value))


def _step(name: str) -> str:
    """What a step put noise on, by the longest name that its own begins with."""
    known = [start for start in _STEPS if name == start or name.startswith(f"{start} ")]
    return _STEPS[max(known, key=len)] if known else ""


def _range(values: Sequence[float]) -> str:
    """One value, or from the smallest to the largest."""
    ends = [number(end, 4) for end in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _count(many: int, word: str) -> str:
    """So many of something."""
    return f"{many:,} {word}{'' if many == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    """Names with commas and an "and"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
