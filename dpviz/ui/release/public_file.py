"""A public file of the owner, which replaces the private file in a rehearsal."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import ACCEPTED
from dpviz.data.reading.apart import Upload
from dpviz.release.rehearsal import PublicData
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.release.controls import ReleaseDraft
from dpviz.ui.session.uploads import UPLOAD_LIMIT, check_size

#: Session entry: the last file and its columns, its public data or None, and an error or "".
_READ = "release:public file"


def public_box(draft: ReleaseDraft) -> None:
    """Show the box for the public file, and read a new file."""
    columns = draft.active.dataset.columns
    file: Any = st.file_uploader(
        "Public file with similar clusters",
        key="release:public upload",
        max_upload_size=UPLOAD_LIMIT // 2**20,
        help=f"You declare that anybody may see every record of this file. Never use the private "
        f"file, or a part of it: everything that you see here may influence your plan. {ACCEPTED}",
    )
    if file is not None and _key(file, columns) != _known()[0]:
        st.session_state[_READ] = (_key(file, columns), *_read(file, columns))
    _, public, error = _known()
    if public is not None and _is_private(public, draft):
        show_error(
            "This is the file that will be released. Its records are private, so they must not "
            "influence the plan: load a public file."
        )
    elif error:
        show_error(error)
    elif public is not None:
        show_caption(f"Public: {public.dataset.name}, {public.dataset.n:,} records.")


def public_data(draft: ReleaseDraft) -> PublicData | None:
    """The public file of this session, if it has the columns of the draft."""
    key, public, _ = _known()
    if public is None or key[1] != draft.active.dataset.columns or _is_private(public, draft):
        return None
    return public


def _known() -> tuple[Any, PublicData | None, str]:
    found: tuple[Any, PublicData | None, str] = st.session_state.get(_READ, (("", ()), None, ""))
    return found


def _key(file: Any, columns: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return file.file_id, columns


def _read(file: Any, columns: tuple[str, ...]) -> tuple[PublicData | None, str]:
    upload = Upload(file.name, file.size, file.getvalue, UPLOAD_LIMIT)
    try:
        table = upload.table(unreadable="leave out")
        if missing := [one for one in columns if one not in table.columns]:
            raise InputError(
                f'{shown(file.name)} has no column "{shown(missing[0])}": give its columns the '
                "names that the private file has."
            )
        data = table.select(columns, unreadable="leave out", turn=False)
        check_size(data.name, (data.points, data.counts))
    except InputError as error:
        return None, str(error)
    finally:
        upload.stop()
    return PublicData(dataset=data), ""


def _is_private(public: PublicData, draft: ReleaseDraft) -> bool:
    """Whether the file has the records that will be released; only the owner sees the answer."""
    active = draft.active
    digests = {active.dataset.digest, active.complete.digest}
    return not active.is_sample and public.dataset.digest in digests
