"""The ``recut`` command: counts of areas from a release that has cells; spends no budget."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dpviz.base.errors import InputError, reason, shown
from dpviz.base.numbers import counted
from dpviz.commands.output import writing
from dpviz.data.strict.areas import read_areas
from dpviz.family.comparison import Report
from dpviz.release.document import FORMAT
from dpviz.release.files import written
from dpviz.release.recut import hexagons_of, recut


def recut_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Write the estimated counts of areas as GeoJSON; return the report and its readable text."""
    if (given.areas is None) == (given.hexagons is None):
        raise InputError("give either --areas FILE or --hexagons RESOLUTION.")
    try:
        document = json.loads(Path(given.release).read_bytes())
        if document["format"] != FORMAT:
            raise ValueError
        if given.areas is not None:
            areas = read_areas(given.areas)
        else:
            areas = hexagons_of(document, given.hexagons)
        made = recut(document, areas)
    except InputError:
        raise
    except OSError as error:
        raise InputError(
            f"RELEASE = {shown(given.release, 120)} can't be read ({reason(error)}): name a "
            "release.json."
        ) from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(
            f"RELEASE = {shown(given.release, 120)} is no release.json of dpviz: name the "
            "file of a bundle."
        ) from None
    with writing(given.out, f"--out {shown(given.out, 120)}") as file:
        file.write(written(made).encode())
    said = f"{counted(len(areas), 'area')} written to {shown(given.out, 120)}"
    report = {"areas": len(areas), "out": given.out, "about": made["about"]}
    return report, f"{said}; no budget is spent\n{made['about']}"
