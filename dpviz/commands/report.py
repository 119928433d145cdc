"""The ``report`` command: check the bundle of a release, and write its files again."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from dpviz.base.ending import say
from dpviz.base.errors import InputError, listed
from dpviz.family.comparison import Report
from dpviz.privacy.budget_log import decimal
from dpviz.privacy.lifetime_budget import Budget
from dpviz.release.bundle import entry_of, read_bundle
from dpviz.release.draw import write_folder
from dpviz.release.package import read_about, sheet_pdf
from dpviz.release.tables import headline, run_line, title


def report_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Check a bundle; return its facts, and the same facts as readable text."""
    if given.out is None and (given.pdf or given.about is not None):
        name = "--pdf" if given.pdf else "--about"
        raise InputError(f"{name} needs --out: name the new folder to write.")
    bundle = read_bundle(given.bundle)
    document = bundle.document
    lines = [
        f"{title(document)}: {headline(document)} ({run_line(document)})",
        "unchanged: every file has its hash"
        if bundle.hashed
        else "no hashes: a version without them wrote this bundle; its table fits release.json",
    ]
    if bundle.others:
        say(f"note: the release did not write {listed(bundle.others)}, so nothing is known of it")
    report: Report = {
        "title": title(document),
        "epsilon": document["privacy"]["epsilon"],
        "certified": document["privacy"]["certified"],
        "version": document["version"],
        "hashed": bundle.hashed,
        "others": list(bundle.others),
        "entry": None,
        "files": [],
    }
    if given.budget_file is not None:
        account, entry = entry_of(document, Budget(given.budget_file))
        report["entry"] = asdict(entry)
        lines.append(
            f'debited: entry {entry.id} of "{account.id}", epsilon {decimal(entry.epsilon)}, '
            f"{entry.time[:10]}, {entry.state}; {decimal(account.remaining)} of "
            f"{decimal(account.total)} left"
        )
    if given.out is not None:
        made = bundle.files(None if given.about is None else read_about(given.about))
        if given.pdf:
            made["sheet.pdf"] = sheet_pdf(made["sheet.html"])
        write_folder(made, Path(given.out))
        report["files"] = [str(Path(given.out) / name) for name in made]
        lines.append(f"{len(made)} files in {given.out}: {', '.join(made)}")
    return report, "\n".join(lines)
