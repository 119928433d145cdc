"""One person: clusters without and with this person, and the effect in many noisy draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.audit.membership import MembershipExperiment
from dpviz.base.arrays import Floats
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted, readable
from dpviz.families import CARDS
from dpviz.figures import marks
from dpviz.figures.panels import Panels, add_maps
from dpviz.figures.theme import BACKGROUND, INK, INVENTED, NOISE, Mode, blend
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.wavecluster.pipeline import Source, Stages

SIDES = ("without", "with the person")


@dataclass(frozen=True, kw_only=True, eq=False)
class Joining:
    """Two data sets, without and with one person; both are clustered without noise."""

    title: str
    columns: Sequence[str]
    person: Floats  # position of the person, shape (2,), in the units of the columns
    #: The two data sets and their true stages; the first is without the person.
    sources: tuple[Source, Source]
    stages: tuple[Stages, Stages]

    @property
    def width(self) -> Floats:
        """Width of a subband's cell on each axis."""
        return cell_width(self.domain, self.stages[0].labels.shape)

    @property
    def domain(self) -> Domain:
        """Bounds of both axes."""
        return self.sources[0].domain


def joining_maps(joining: Joining, mode: Mode) -> Panels:
    """Plot the clusters without and with the person side by side."""
    clusters = [counted(stages.n_clusters, "cluster") for stages in joining.stages]
    layout = marks.base_layout(f"{joining.title} · WaveCluster, no noise", (58, 10, 54, 40))
    maps = [
        (f"<b>{side}</b> · {clusters[number]}", _map(joining, number, mode))
        for number, side in enumerate(SIDES)
    ]
    both = " and ".join(f"{found} {side}" for found, side in zip(clusters, SIDES, strict=True))
    return Panels(
        data=add_maps(layout, joining.columns, joining.domain, maps),
        layout=layout,
        alt=f"{joining.title}, clustered without noise: {both}.",
        height=400,
        share=0.4,
    )


def joining_frame(joining: Joining) -> pd.DataFrame:
    """Table behind the maps: one row per cell, with its cluster without and with the person."""
    shape = joining.stages[0].labels.shape
    table = pd.DataFrame(marks.cell_columns(joining.columns, shape, joining.domain, joining.width))
    for side, stages in zip(SIDES, joining.stages, strict=True):
        table[f"cluster {side}"] = stages.labels.ravel()
    return table


def _map(joining: Joining, number: int, mode: Mode) -> list[marks.Trace]:
    source, stages = joining.sources[number], joining.stages[number]
    # Cells of clusters have a pale colour; all other cells have the background colour.
    codes = marks.cluster_codes(stages.labels, stages.significant, mode)
    tinted = {"opacity": 0.75, **marks.cluster_colours(mode)}
    return [
        marks.heatmap(codes, source.domain, joining.width, **tinted),
        marks.scatter(
            "markers", *source.points.T, marker=marks.marker(2.5, INK[mode], opacity=0.4)
        ),
        _cluster_numbers(joining, stages, mode),
        _person(joining, number, mode),
    ]


def _cluster_numbers(joining: Joining, stages: Stages, mode: Mode) -> marks.Trace:
    places = []
    for number in range(1, stages.n_clusters + 1):
        index = np.nonzero(stages.labels == number)
        cells = np.column_stack(marks.middles(index, joining.domain, joining.width))
        apart = np.linalg.norm((cells - joining.person) / joining.width, axis=1)
        places.append(cells[int(np.argmax(apart))])
    return marks.scatter(
        "text",
        *np.reshape(places, (-1, 2)).T.tolist(),
        text=marks.bold_numbers(range(1, len(places) + 1)),
        textfont=marks.number_font(mode, 16),
    )


def _person(joining: Joining, number: int, mode: Mode) -> marks.Trace:
    there, ink = number == 1, INK[mode]
    look = (INVENTED[mode], "star") if there else (ink, "circle-open")
    return marks.scatter(
        "markers+text",
        joining.person[:1].tolist(),
        joining.person[1:].tolist(),
        "%{x:,.0f}, %{y:,.0f}",
        text=["<b>this person</b>" if there else "nobody here"],
        textposition="bottom right",
        textfont=marks.number_font(mode, 12),
        marker=marks.outlined(15, *look, ink, 1.5),
        cliponaxis=False,
    )


def membership_bars(experiment: MembershipExperiment, mode: Mode) -> Panels:
    """Plot how often each number of clusters occurred, and the range that the promise allows."""
    numbers = np.array(experiment.numbers)
    shares = [
        100 * np.array(counts) / experiment.draws
        for counts in (experiment.without, experiment.joined)
    ]
    limits = 100 * np.array(experiment.limits).reshape(-1, 2)
    title = f"{CARDS[experiment.method].title} {experiment.variant}"
    times, epsilon = readable(experiment.allowed), readable(experiment.epsilon, 4)
    pale = blend(NOISE[mode], BACKGROUND[mode], 0.45)
    data = [
        marks.bar(
            numbers + 0.21,
            limits[:, 1] - limits[:, 0],
            "%{customdata[0]:.2f} % to %{customdata[1]:.2f} % allowed",
            name=f"allowed: 1/{times} to {times} times the share without",
            width=0.42,
            base=limits[:, 0],
            marker={"color": pale, "line": {"color": NOISE[mode], "width": 1.5}},
            customdata=limits,
        ),
        *(
            marks.bar(
                numbers + (-0.17, 0.17)[number],
                shares[number],
                f"%{{y:.2f}} % of draws {side}",
                name=side,
                width=0.3,
                marker=marks.side_look(number, mode),
            )
            for number, side in enumerate(SIDES)
        ),
    ]
    low, high = int(numbers.min()), int(numbers.max())
    most = max(float(share.max()) for share in shares)
    layout = marks.base_layout(
        f"{title} · ε {epsilon} · {experiment.draws:,} draws on each side",
        (58, 10, 62, 44),
        barmode="overlay",
        xaxis=marks.chart_axis(
            "number of clusters",
            range=[low - 0.6, max(high, low + 3) + 0.6],
            tickformat="d",
            dtick=max(1, (high - low) // 14),
        ),
        # If nearly all draws give the same number, the allowed range is much higher than all bars.
        yaxis=marks.chart_axis("share of draws, %", range=[0, min(100.0, 1.7 * most)]),
        legend=marks.LEGEND,
        uirevision=CARDS[experiment.method].title,
    )
    often = " and ".join(
        f"{numbers[int(np.argmax(share))]} most often {side}"
        for share, side in zip(shares, SIDES, strict=True)
    )
    return Panels(
        data=data,
        layout=layout,
        alt=(
            f"Number of clusters under {title}, ε {epsilon}, in "
            f"{experiment.draws:,} draws on each side: from {low} to {high}, {often}. "
            f"A band shows what the promise allows: each number may occur at most {times} times as "
            "often with the person as without."
        ),
        height=330,
        share=0.33,
    )


def membership_frame(experiment: MembershipExperiment) -> pd.DataFrame:
    """Table behind the bars: draws, shares and limits for each number of clusters."""
    sides = dict(zip(SIDES, (experiment.without, experiment.joined), strict=True))
    return pd.DataFrame(
        {
            "number of clusters": experiment.numbers,
            **{f"draws {side}": counts for side, counts in sides.items()},
            **{
                f"share {side}": [count / experiment.draws for count in counts]
                for side, counts in sides.items()
            },
            "least share allowed": [low for low, _ in experiment.limits],
            "largest share allowed": [high for _, high in experiment.limits],
        }
    )
