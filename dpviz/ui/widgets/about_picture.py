"""“About this picture”: below every figure what it shows, how to read it and what to try.

The texts stand here alone. The browser keeps the toggle as it is: no click asks the server.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

import streamlit as st


@dataclass(frozen=True, kw_only=True)
class AboutPicture:
    """Help on one kind of figure, as plain text."""

    shows: str
    read: str
    attempt: str


#: On a phone the two sides stand above each other.
_SIDES = (
    "Left (on a phone above) is the truth, right (below) the chosen method. Both zoom together."
)

#: What is said of each figure: the views of the explorers by their names in links, and all others.
ABOUT = {
    "clusters": AboutPicture(
        shows="The clusters: crowds of records, each with a colour and a number.",
        read=f"{_SIDES} A private cluster takes number and colour of the true cluster that it "
        "shares most cells with. The private side has cells and no records, as "
        "a release has; cells of full colour hold more.",
        attempt="With a method that adds noise, make epsilon smaller until a cluster is "
        "lost or a new one appears. Then open “What broke this cluster?”.",
    ),
    "significant": AboutPicture(
        shows="The cells that are full enough to belong to a cluster.",
        read=f"{_SIDES} On the right, × marks a cell that noise invented, and ○ one that it hid.",
        attempt="Change the seed: which wrong cells stay where they are? Cells near the threshold "
        "go wrong first.",
    ),
    "threshold": AboutPicture(
        shows="All positive values of the average subband, sorted from large to small, and the "
        "threshold that cuts the list.",
        read="The values before the cut are significant cells. Noise makes empty cells positive, "
        "so the private list is longer. For PrivTHREM, bars show how likely each threshold was.",
        attempt="Choose a grid of 8 x 8: every value is then written under its bar. Compare PrivQT "
        "and PrivTHR.",
    ),
    "average": AboutPicture(
        shows="The counts smoothed by the wavelet: neighbouring cells are put together.",
        read=f"{_SIDES} Both have one colour scale; values below zero have another hue.",
        attempt="Point at a cell: you see the true value, the private value and the error.",
    ),
    "details": AboutPicture(
        shows="All parts that the wavelet takes the counts apart into: the average, and the "
        "details that it leaves out.",
        read=f"{_SIDES} The average stands in the lower left corner. Details are large at edges; "
        "the clusters are found without them.",
        attempt="Change the wavelet or its level, and see what moves into the average.",
    ),
    "counts": AboutPicture(
        shows="The number of records in every cell of the grid: all that the method reads.",
        read=f"{_SIDES} Noise goes into every cell, also into empty ones, so that a count can be "
        "below zero.",
        attempt="Choose a grid of 8 x 8 and read the numbers: how far off is an empty cell? "
        "Where there is noise, halve epsilon.",
    ),
    "overview": AboutPicture(
        shows="All steps of the method, from the counts to the clusters.",
        read="The true run stands above, the private run below. Read from left to right: what "
        "noise did in one step goes on in the next.",
        attempt="Find the first step where the lower row looks wrong.",
    ),
    "regions": AboutPicture(
        shows="The centres of k-means, and the region that is nearest to each of them.",
        read="Left (on a phone above) is a result without noise, with the records; right (below) "
        "the chosen method, without them. Lines show how a centre moved; the small numbers "
        "beside private centres are noisy counts.",
        attempt="Switch “True points” on: does a centre stand where nobody is? Then make epsilon "
        "larger.",
    ),
    "noise": AboutPicture(
        shows="How much noise each step or each cluster gets.",
        read="A high bar is much noise. Where two charts stand side by side, the right one shows "
        "what the noise does to a centre: the same noise moves a small cluster further.",
        attempt="Ask for more iterations: they share the budget, so that each gets more noise.",
    ),
    "grid": AboutPicture(
        shows="The number of records in every cell of the grid, with the centres.",
        read="Left are the true counts, right the noisy ones that the method goes on with. Both "
        "have one colour scale.",
        attempt="Point at a cell: you see the true count and the noisy one. Then halve epsilon.",
    ),
    "chain": AboutPicture(
        shows="Centres before and after post-processing, which reads noisy numbers alone.",
        read="The curve says how well centres explain the noisy numbers, step by step. The "
        "headings say how good both results are; post-processing costs no budget.",
        attempt="Change the seed a few times: does it help every time?",
    ),
    "draws maps": AboutPicture(
        shows="Many results at once, each with its own noise.",
        read="Colour on the left says in what share of the draws something happens there; the "
        "headings name it. The right side marks the draw that the player shows.",
        attempt="Play the draws one after the other. What changes every time is noise.",
    ),
    "draws strips": AboutPicture(
        shows="Every score over all draws.",
        read="A dot is a draw, the box holds most or all of them, the line is the median. The "
        "diamond is the draw that the player shows, dashes are the true run.",
        attempt="Look for a score whose dots lie far apart: there one draw says little.",
    ),
    "diagnosis": AboutPicture(
        shows="All steps around one true cluster.",
        read="The true run stands above, the private run below; the outline is the true cluster. "
        "The dashed frame marks the step at which they part.",
        attempt="Choose another cluster: does it break at the same step?",
    ),
    "find epsilon": AboutPicture(
        shows="How often a target is met, over epsilon.",
        read="Left is the share of the draws that meet the target, right the score itself with its "
        "band. Dashes are the target; the upright line is the smallest epsilon that was found.",
        attempt="Ask for a little less: how much budget does that save?",
    ),
    "find map": AboutPicture(
        shows="A score for every pair of settings.",
        read="The number of a cell is its score. The star is the best cell, the circle your "
        "setting, a diamond the best one at another epsilon.",
        attempt="Look beside the star: where neighbours are nearly as good, the choice matters "
        "little.",
    ),
    "find null": AboutPicture(
        shows="How many clusters each method finds where there are none: the points are spread "
        "evenly by chance.",
        read="Every cluster here is invented. Bars are medians, whiskers the band of the draws; "
        "a hatched bar is a method without privacy.",
        attempt="Raise the density threshold, and run it again.",
    ),
    "curves": AboutPicture(
        shows="A score of several methods over epsilon, or over another setting.",
        read="A line is the median of the draws, its band holds most or all of them. Where bands "
        "overlap, one draw does not tell which method is better.",
        attempt="Click a point: the run nearest to that median opens in its explorer.",
    ),
    "noise curve": AboutPicture(
        shows="How large Laplace noise is on average, over epsilon.",
        read="The line is measured, the dots are the law: sensitivity divided by epsilon.",
        attempt="Read two points: at half of an epsilon the noise is twice as large.",
    ),
    "time over records": AboutPicture(
        shows="How long one run of a method takes, over the number of records, for different "
        "numbers of workers.",
        read="Filled marks were measured, on one worker and on two; open marks are other methods. "
        "Dashed parts are calculated. Both axes are logarithmic: a straight line means that ten "
        "times the records take ten times as long.",
        attempt="Follow a line to the right: where it is straight, each further record costs the "
        "same. At the left end more workers hardly help.",
    ),
    "time over epsilon": AboutPicture(
        shows="How long one run of each method takes, over epsilon.",
        read="Each mark is measured. Where a line is flat, the noise costs no time.",
        attempt="Point at a mark: it says how often the run read all records.",
    ),
    "speedup": AboutPicture(
        shows="How many times faster several workers are than one.",
        read="The dotted line is the best that could be: twice the workers, half the time. A curve "
        "that leaves it has found something that workers can't share.",
        attempt="Compare few records with many: which curve stays longer at the dotted line?",
    ),
    "paper picture": AboutPicture(
        shows="The clusters of a figure of the paper, with our code.",
        read=f"{_SIDES} Clusters that noise joins have one colour on the right.",
        attempt="Open it in its explorer, and change the seed or epsilon.",
    ),
    "joining": AboutPicture(
        shows="The same data twice, clustered without noise: without one person, and with that "
        "person.",
        read="The star is the person, the ring the place where nobody is. Compare the numbers of "
        "clusters.",
        attempt="Ask yourself: somebody knows all the others; what does the number tell them?",
    ),
    "membership": AboutPicture(
        shows="How often each number of clusters comes out, without the person and with them.",
        read="The more alike the two bars of a number are, the less it tells. The band is what the "
        "promise of epsilon allows.",
        attempt="Make epsilon smaller: the band gets narrow. Make it large: the bars may differ.",
    ),
    "score": AboutPicture(
        shows="The number that tells the two data sets apart best, over many runs on each.",
        read="The shaded part is the event that counts. The more its bars differ, the larger the "
        "real epsilon must be.",
        attempt="Run a published variant and the sound one of the same method: compare the bars in "
        "the shaded part.",
    ),
    "bounds": AboutPicture(
        shows="What every audit measured, against what is claimed.",
        read="A bar is the least that epsilon can be, with 99% confidence. A bar beyond the dashed "
        "line refutes the claim; a shorter one proves nothing.",
        attempt="Read the names of the bars beyond the line, and look for the reason on the cards "
        "of these methods.",
    ),
    "rehearsal": AboutPicture(
        shows="What this plan could publish: each small map is one draw on public data that stand "
        "in for yours.",
        read="Blue is, or finds, a true cluster of the public data; orange with a cross was "
        "invented by noise, or finds none. A ring marks where a true cluster is: one without "
        "blue is lost. The maps have the axes of your domain, or those of the public set.",
        attempt="Take the recommended plan: its maps show fewer crosses. Then choose another size "
        "of clusters.",
    ),
    "benchmark": AboutPicture(
        shows="A score of all methods at equal epsilon, on public data.",
        read="A line is a method. A dotted line without marks reads no data: a method that is no "
        "better than it is worth nothing there.",
        attempt="Click a name of the legend to hide it. Compare the left end with the right one: "
        "which method is best with little budget?",
    ),
    "game": AboutPicture(
        shows="What a method publishes about one draw: of data with the person, or without.",
        read="Numbers have noise: a square without anybody may show 2. The frame or star marks "
        "where the person would be.",
        attempt="Guess by the marked place alone. Then choose a larger epsilon and guess again.",
    ),
    "game score": AboutPicture(
        shows="Shares of right guesses, of players and of the best rule.",
        read="A line through a dot holds the share that many more guesses would lead to, in 19 of "
        "20 games. The dashed line is the limit that epsilon sets.",
        attempt="Let the rule play 100 more: its line gets shorter, and stays at the limit or "
        "below it.",
    ),
    "game class": AboutPicture(
        shows="One published number of all draws of the class, without and with the person.",
        read="Where both colours are equally high, the number does not tell whether the person is "
        "in.",
        attempt="Choose a smaller epsilon: both colours become alike.",
    ),
    "release": AboutPicture(
        shows="What you may publish: clusters, and where there are cells their noisy counts.",
        read="All of it comes from released numbers. A hatched cluster is doubtful: noise alone "
        "could have made it. A count below zero is noise in an empty cell.",
        attempt="Open the report: it says the same in words and numbers.",
    ),
}

_TITLES = {"shows": "What it shows", "read": "How to read it", "attempt": "What to try"}


def about_picture(name: str) -> None:
    """Show the toggle of a figure, closed; ``name`` is one of :data:`ABOUT`."""
    about = ABOUT[name]
    rows = "".join(
        f"<dt>{title}</dt><dd>{html.escape(getattr(about, part))}</dd>"
        for part, title in _TITLES.items()
    )
    st.html(
        '<details class="dpv-about"><summary>About this picture</summary>'
        f'<dl class="dpv-terms">{rows}</dl></details>'
    )
