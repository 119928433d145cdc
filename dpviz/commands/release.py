"""The ``release`` and ``budget`` commands: one secure release, and what is left of the budget."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from dpviz.commands.options import check_options, config_of
from dpviz.commands.output import Report, spend_lines
from dpviz.commands.source import domain_of, known_sample, load
from dpviz.ending import say
from dpviz.errors import InputError
from dpviz.privacy.budget import Account, Budget
from dpviz.release import Request, release

#: Without a name of their own, records of a pipe could not be told from other ones.
_NAMELESS = "-"


def release_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Release one clustering; returns the report and its text for people."""
    check_options(given)
    source = _source(given)
    if given.seed:
        say(f"note: --seed {given.seed} is ignored: nobody can repeat a release")
    data, _ = load(given, named=True)
    request = Request(
        config=config_of(given),
        # Bounds that nobody declared are refused; those of a grid of counts only number its cells.
        domain=domain_of(given.domain, data) or (None if given.counts else data.domain),
        outside=given.outside,
        unit=given.unit,
        title=given.title,
    )
    budget = Budget(given.budget_file)
    is_new = budget.find(source) is None
    done = release(
        data,
        request,
        budget=budget,
        source=source,
        total=given.total,
        folder=Path(given.out),
    )
    # Another process may have opened it meanwhile, with a total of its own.
    if is_new and given.total is not None:
        say(f'note: "{source}" has a lifetime budget of {given.total:g} now')
    privacy = done.document["privacy"]
    report: Report = {
        "released": True,
        "epsilon": done.entry.epsilon,
        "certified": privacy["certified"],
        "remaining": done.remaining,
        "entry": asdict(done.entry),
        "files": [str(done.folder / name) for name in done.files],
        "ledger": privacy["ledger"],
    }
    return report, "\n".join(
        [
            f"released {request.card.title}, epsilon {done.entry.epsilon:g}, as entry "
            f'{done.entry.id} of "{done.entry.source}"',
            *spend_lines(privacy["ledger"]),
            f"{done.remaining:g} of the lifetime budget is left",
            f"{len(done.files)} files in {done.folder}: {', '.join(done.files)}",
            privacy["odds"],
        ]
    )


def budget_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List the lifetime budgets of a file, with all that was spent of them."""
    accounts = Budget(given.file).datasets()
    lines = [line for account in accounts for line in _account_lines(account)]
    return (
        {"datasets": [asdict(account) for account in accounts]},
        "\n".join(lines or ["no data source has a budget in this file yet"]),
    )


def _account_lines(account: Account) -> list[str]:
    """A source and its entries, for people."""
    return [
        f'"{account.id}": {account.spent:g} of {account.total:g} spent, {account.remaining:g} left',
        *(
            f"  {one.id:>4}  {one.time}  epsilon {one.epsilon:g}  {one.what.get('method', '')}  "
            f"{one.state}"
            for one in account.entries
        ),
    ]


def _source(given: argparse.Namespace) -> str:
    """Name of the data source in the budget file: as told, or the name of the sample or file.

    Without its folders, links and packing: the same file under another path must not get another
    budget.
    """
    if given.source is not None:
        return str(given.source)
    if given.data == _NAMELESS:
        raise InputError(
            "--source is missing: name the data source whose budget pays, since standard input "
            "has no name."
        )
    if known_sample(given) is not None:
        return str(given.data)
    return Path(given.data).resolve().name.removesuffix(".gz")
