"""MirrorMaker's offsets beside ours, for the groups of which it has said something."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from offset_sync.model.text import visible
from offset_sync.status.render.mirror_maker import doubts, mirror_maker_rows
from offset_sync.status.render.page.column_encoding import exact

GROUPS = 100
"""So many groups are shown: those that would lose most there, then those that are furthest behind."""


def pack_mirror_maker(status: pa.Table, most: int = GROUPS) -> dict[str, Any]:
    """Return ``{rows, more, doubts}``: at most *most* groups, how many there are more, and lines of text.

    A row is ``[group, source, target, checkpoints, partitions, behind, lost, unknown, stands]``, as in the terminal.
    """
    found = mirror_maker_rows(status)
    rows = [
        [
            *(visible(name) for name in (each.group_id, each.source_cluster, each.target_cluster)),
            *(exact(count) for count in (each.checkpoints, each.partitions, each.behind, each.lost, each.unknown)),
            each.stands,
        ]
        for each in found[:most]
    ]
    return {"rows": rows, "more": max(len(found) - most, 0), "doubts": doubts(found)}
