"""Is the sync healthy? The problems of a report, by which the exit code goes, and notes for a move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from offset_sync.model.reasons import Reason
from offset_sync.model.text import visible
from offset_sync.model.values import Status
from offset_sync.status.assessment import BEHIND, MOVES, TROUBLES, Row, Verdict


def find_problems(partitions: Sequence[Row], pairs: Sequence[Row], groups: Sequence[Row]) -> Iterator[Row]:
    """Yield the reasons why the sync is not healthy, worst first; names are visible, ``status`` is a word or None.

    The sync is healthy if all of these hold:

    - no partition is in :func:`trouble`: none is Stalled or Withheld, and none skips a record;
    - every pair's and every group's drift has converged, unless all of it may be moved at no cost;
    - the report has rows: an empty report is no proof of health.

    TargetActive is healthy: the group runs there. Errs to unhealthy: a required null counts as too much.
    """
    if not partitions:
        yield {"status": None, "text": Reason.NOTHING_TO_REPORT()}
    for trouble in TROUBLES:
        if rows := [row for row in partitions if row["trouble"] == trouble]:
            counted = sum(row["skipped"] for row in rows)
            word = Status[trouble].word if trouble in Status.__members__ else None
            yield {"status": word, "text": Reason[trouble](of=_of_rows(rows), why=_reasons(rows), skipped=counted)}
    for row in filter(_is_drifting, pairs):
        pair, by = f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}", row["drift"]
        yield {"status": None, "text": Reason.PAIR_DRIFTS(pair, f"{by['windowed_change'] or 0:,}")}
    if drifting := sorted({row["group_id"] for row in filter(_is_drifting, groups)}):
        yield {"status": None, "text": Reason.GROUPS_DRIFT(len(drifting), _listed(map(visible, drifting)))}


def find_notes(partitions: Sequence[Row]) -> Iterator[str]:
    """Yield notes for a move that are no problem of the sync."""
    if late := [row for row in partitions if row["status"] == BEHIND and row["trouble"] is None]:
        yield Reason.BEHIND(_of_rows(late), _reasons(late))
    fresh = {(row["group_id"], row["topic"], row["uncommitted"]) for row in partitions if row["uncommitted"]}
    if fresh:
        named = (f"{visible(group_id)}: {visible(topic)} {left}" for group_id, topic, left in sorted(fresh))
        yield Reason.UNCOMMITTED(len(fresh), _listed(named))


def _is_drifting(row: Row) -> bool:
    return row["drift"] is not None and not row["drift"]["is_converged"] and row["move"] != MOVES[Verdict.NOW]


def _of_rows(rows: Sequence[Row]) -> str:
    groups = {(row["source_cluster"], row["target_cluster"], row["group_id"]) for row in rows}
    return Reason.OF_ROWS(len(rows), len(groups))


def _reasons(rows: Sequence[Row]) -> str:
    counts = Counter(row["reason"] for row in rows if row["reason"])
    found = _listed(visible(each) for each in sorted(counts, key=lambda each: (-counts[each], each)))
    return f" ({found})" if found else ""


def _listed(texts: Iterable[str], most: int = 3) -> str:
    found = list(texts)
    return ", ".join(found[:most] + (["…"] if len(found) > most else []))
