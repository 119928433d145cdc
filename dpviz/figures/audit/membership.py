"""Bars that show one person's effect in many draws: how often each number of clusters occurs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.audit.membership import MembershipExperiment
from dpviz.base.numbers import readable
from dpviz.families import CARDS
from dpviz.figures.audit.joining import SIDES
from dpviz.figures.marks import LEGEND, bar, base_layout, chart_axis, side_look
from dpviz.figures.panels import Panels
from dpviz.figures.theme import BACKGROUND, NOISE, Mode, blend


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
        bar(
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
            bar(
                numbers + (-0.17, 0.17)[number],
                shares[number],
                f"%{{y:.2f}} % of draws {side}",
                name=side,
                width=0.3,
                marker=side_look(number, mode),
            )
            for number, side in enumerate(SIDES)
        ),
    ]
    low, high = int(numbers.min()), int(numbers.max())
    most = max(float(share.max()) for share in shares)
    layout = base_layout(
        f"{title} · ε {epsilon} · {experiment.draws:,} draws on each side",
        (58, 10, 62, 44),
        barmode="overlay",
        xaxis=chart_axis(
            "number of clusters",
            range=[low - 0.6, max(high, low + 3) + 0.6],
            tickformat="d",
            dtick=max(1, (high - low) // 14),
        ),
        # If nearly all draws give the same number, the allowed range is much higher than all bars.
        yaxis=chart_axis("share of draws, %", range=[0, min(100.0, 1.7 * most)]),
        legend=LEGEND,
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
