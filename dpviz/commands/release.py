"""The ``release`` and ``budget`` commands: one secure release, and the remaining budget."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from functools import partial
from pathlib import Path

from dpviz.base.ending import say
from dpviz.base.errors import InputError
from dpviz.commands.options import check_options, config_of, given_of
from dpviz.commands.output import spend_lines
from dpviz.commands.source import (
    columns_missing,
    engine_for,
    known_sample,
    load_for_release,
    stored_data,
)
from dpviz.data.cities import check_not_exchanged, city_words
from dpviz.data.dataset import Dataset
from dpviz.data.geographic import axes_words, in_degrees, lon_first, placed
from dpviz.data.source import is_nameless, local_path
from dpviz.data.stored import Stored
from dpviz.data.strict.areas import hexagons, read_areas
from dpviz.family.comparison import Report
from dpviz.grid.areas import Areas
from dpviz.grid.domain import Domain
from dpviz.privacy.budget_log import Account, decimal, granted
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.names import without_packing
from dpviz.release import Request, release
from dpviz.release.draw import check_parts
from dpviz.release.package import read_about
from dpviz.release.tables import axes_of, on_map

_NAMELESS = "-"


def release_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Release one clustering; return the report and its readable text."""
    check_options(given)
    today = date.today().isoformat()  # before the data are read
    named = _source(given)
    about = read_about(given.about) if given.about is not None else {}
    if given.seed:
        say(f"note: --seed {given.seed} is ignored: nobody can repeat a release")
    # The random key that selects records of each person is not kept.
    with (
        stored_data(given, secrets.randbits(63), partial(_check_stored, given)) as opened,
        engine_for(given) as engine,
    ):
        data = opened or load_for_release(given)
        areas = _areas(given, data)
        request = Request(
            config=config_of(given),
            domain=_domain(given, data) if areas is None else None,
            areas=areas,
            outside=given.outside,
            unit=given.unit,
            title=given.title,
            date=today,
        )
        budget = Budget(given.budget_file)
        source = _payer(given, budget, named, data)
        is_new = budget.find(source) is None
        noted = _note_problems(budget)
        # Areas are on a map, so the columns of their domain are longitude and latitude.
        columns = data.columns if areas is None else lon_first(data.columns)
        done = release(
            data, request, engine=engine, budget=budget, source=source, total=given.total,
            folder=Path(given.out), about=about,
            before=partial(_note_place, columns, request.domain),
        )  # fmt: skip
    # Print the stored total: another process may have created the source with a different total.
    if is_new and given.total is not None:
        total = decimal(granted(given.total))
        say(f'note: "{source}" has a lifetime budget of {total} now')
    if not noted:  # notes on a budget file that was created just now
        _note_problems(budget)
    privacy, chosen = done.document["privacy"], done.document.get("chosen")
    report: Report = {
        "released": True,
        "epsilon": done.entry.epsilon,
        "certified": privacy["certified"],
        "remaining": done.remaining,
        "entry": asdict(done.entry),
        "files": [str(done.folder / name) for name in done.files],
        "ledger": privacy["ledger"],
        "axes": on_map(done.document)["domain"]["columns"],
    }
    if chosen:
        values = done.document["parameters"]
        report["chosen"] = {name: values[name] for name in chosen["parameters"]}
    domain = done.document["domain"]
    # Axes of longitude and latitude were already printed before the debit.
    axes = "" if in_degrees(domain["columns"], domain["bounds"]) else axes_of(done.document)
    return report, "\n".join(
        [
            f"released {done.document['method']['title']}, epsilon "
            f"{decimal(done.entry.epsilon)}, as {done.place}",
            *([f"chosen   {chosen['how']}"] if chosen else []),
            *spend_lines(privacy["ledger"]),
            done.left,
            *([axes] if axes else []),
            f"{len(done.files)} files in {done.folder}: {', '.join(done.files)}",
            privacy["odds"],
        ]
    )


def _note_place(columns: Sequence[str], domain: Domain | None) -> None:
    """Print the axes of longitude and latitude before the debit, while the user can still stop."""
    if domain and (city := city_words(columns, domain.bounds)):
        check_not_exchanged(columns, domain)
        say(f"note: {axes_words(columns, domain.bounds)} {city}")


def _check_stored(given: argparse.Namespace, source: Stored) -> None:
    """Refuse stored records if reading them would reveal something about a record; print notes."""
    check_parts(source)
    if given.columns is None and source.ndim > 2:
        raise columns_missing(source.columns)
    for note in source.notes:  # about names of files, so they do not depend on any record
        say(f"note: {note.removesuffix('.')}")


def _domain(given: argparse.Namespace, data: Dataset | Stored) -> Domain | None:
    if given.domain is None:
        # The default bounds of a grid of counts are only its cell numbers.
        return None if given.counts else data.domain
    return None if given.domain == "data" else Domain.parse(given.domain)


def _areas(given: argparse.Namespace, data: Dataset | Stored) -> Areas | None:
    if given.areas is None and given.hexagons is None:
        return None
    option = "--hexagons" if given.areas is None else "--areas"
    names = ["alpha", "choose", "grid", "level", "wavelet"]
    names += ["domain", "hexagons"] if given.areas is not None else []
    if idle := [*given_of(given, names)]:
        raise InputError(f"--{idle[0]} has no effect with {option}: leave it out.")
    if given.areas is not None:
        return read_areas(given.areas)
    domain = _domain(given, data)
    order = placed(data.columns)
    if domain is None or not order:
        raise InputError(
            "--hexagons needs columns named longitude and latitude, and a declared --domain for "
            "them."
        )
    return hexagons(given.hexagons, domain if order == "lonlat" else domain.select((1, 0)))


def budget_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List the lifetime budgets of a file, with all their spends."""
    budget = Budget(given.file)
    accounts = budget.datasets()
    _note_problems(budget)
    lines = [line for account in accounts for line in _account_lines(account)]
    return (
        {"datasets": [asdict(account) for account in accounts]},
        "\n".join(lines or ["no data source has a budget in this file yet"]),
    )


def _account_lines(account: Account) -> list[str]:
    return [
        f'"{account.id}": {decimal(account.spent)} of {decimal(account.total)} spent, '
        f"{decimal(account.remaining)} left",
        *(
            f"  {one.id:>4}  {one.time}  epsilon {decimal(one.epsilon)}  "
            f"{one.what.get('method', '')}  {one.state}"
            for one in account.entries
        ),
    ]


def _note_problems(budget: Budget) -> bool:
    if budget.unnoted:
        say(f"note: {budget.unnoted}")
    return bool(budget.unnoted)


def _payer(given: argparse.Namespace, budget: Budget, named: str, data: Dataset | Stored) -> str:
    if given.source is not None:
        return named
    owner = budget.owner(data.origins, proposed=named)
    if owner is not None and owner != named:
        say(f'note: these data were released as source "{owner}" before, so its budget is debited')
    return owner or named


def _source(given: argparse.Namespace) -> str:
    if given.source is not None:
        return str(given.source)
    if given.data != _NAMELESS and known_sample(given) is not None:
        return str(given.data)
    path = local_path(given.data)
    what = ""
    try:
        named = Path(path).resolve()
        # The reader refuses a missing file.
        if is_nameless(path):
            what = "an address of a store" if "://" in path else "a pattern"
        elif path == _NAMELESS or (Path(path).exists() and not (named.is_file() or named.is_dir())):
            what = "a pipe"
    except (OSError, RuntimeError, ValueError):  # The reader refuses this path.
        return path
    if what:
        raise InputError(
            f"--source is missing: name the data source whose budget is debited, since {what} has "
            "no fixed name."
        )
    return without_packing(named.name)
