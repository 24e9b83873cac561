"""Which fingerprints nobody needs any more: of copies that are decided, and of originals too old to be sent again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.model.values import ClusterPartition
from offset_sync.translate.index.origin_positions import NO_LIMIT


def needed_from(
    logs: Collection[ClusterPartition],
    states: Mapping[ClusterPartition, AlignerState],
    origin_of: Callable[[str], str | None],
) -> dict[ClusterPartition, int]:
    """Return from where on the fingerprints of each of *logs* are needed, by the *states* of the logs of copies.

    Of originals what any log of copies goes on with: all of them as long as one of those is not aligned, nothing where
    there is none. Logs of copies that are not aligned yet are left out: all of theirs are needed.
    """
    of_originals: dict[ClusterPartition, int] = {}
    for log in {*logs, *states}:
        if (origin := origin_of(log.topic)) not in (None, log.cluster):
            originals = ClusterPartition(str(origin), *log.topic_partition)
            needed = states[log].reach.first_needed if log in states else 0
            of_originals[originals] = min(needed, of_originals.get(originals, needed))
    found = {log: states[log].frontier for log in logs if log in states}
    for log in logs:
        if origin_of(log.topic) == log.cluster:
            found[log] = of_originals.get(log, int(NO_LIMIT))
    return found
