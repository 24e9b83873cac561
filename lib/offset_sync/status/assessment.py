"""What the facts of a report mean: the status of each row, may it be moved, and is the sync healthy? Pure.

Rows of sync_status in, words and reasons out. One rule for headline, column ``move`` and plan: a group's verdict is the
least of its partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

from offset_sync.model.reasons import Reason
from offset_sync.model.text import visible
from offset_sync.model.values import Outcome, State, Status

Row = dict[str, Any]
STATUS_WORDS = tuple(status.word for status in Status)
"""The words of the column ``status``, worst first."""
Direction = tuple[str, str]
Directions = Mapping[Direction, Sequence[Row]]
"""Verdicts, by direction, sorted by partition: rows of ANSWERS_SCHEMA, each with its ``key`` and its ``stream``."""
_HELD = (Outcome.COMMITTED.name, Outcome.UNCHANGED.name)
WITHHELD, STALLED, BEHIND, TARGET_ACTIVE, MIRRORING, IN_SYNC = STATUS_WORDS


class Verdict(IntEnum):
    """May it be moved to the target now? A group has the least verdict of its partitions."""

    BLOCKED = 0  # no: withheld, members at the target or not known, newest commits at a third cluster
    UNKNOWN = 1  # no: unknown cost, or unread records would be skipped; until an offset is written at the target
    AT_COST = 2  # at the cost shown, or it is not known yet that there is none
    NOW = 3  # yes: in sync, nothing repeated or lost


MOVES = ("no", "no", "at_cost", "now")
"""The word of each verdict: ``move`` of a report."""


def wanted_of(row: Row) -> int | None:
    """Return the answer of a verdict, None where it is withheld."""
    offset: int | None = None if State[row["state"]].is_withheld else row["target_offset"]
    return offset


def known_at_target(row: Row) -> int | None:
    """Return what the target is known to hold if it does not hold the answer."""
    offset: int | None = row["target_offset" if row["outcome"] in _HELD else "previous_target_offset"]
    return offset


def skipped(row: Row) -> int:
    """Return the unread records at the target below the group's offset there: lost, less what may yet come."""
    return max((row["lost"] or 0) - (row["not_mirrored"] or 0), 0)


def verdict(row: Row) -> Verdict:
    """Return the :class:`Verdict` of a row of sync_status. Errs to not moving.

    A partition that two clusters commit is not blocked: moving the group decides its home.
    """
    status, is_contested = row["status"], row["state"] == State.COMMITTED_AT_BOTH.name
    is_blocked = status == TARGET_ACTIVE or (status == WITHHELD and not is_contested)
    if is_blocked or row["is_target_active"] is None or row["elsewhere"]:
        return Verdict.BLOCKED
    if row["duplicates"] is None or skipped(row) or is_contested:
        return Verdict.UNKNOWN
    costs = row["lost"] or row["duplicates"] or row["duplicates_at_most"]
    return Verdict.NOW if status == IN_SYNC and not costs else Verdict.AT_COST


def trouble(row: Row) -> str | None:
    """Return why a row of sync_status is not healthy, a word of Reason: the first of these that it is; None: healthy.

    SKIPPING: unread records at the target below the group's offset. WITHHELD and STALLED.
    """
    if skipped(row):
        return "SKIPPING"
    return str(row["status"]).upper() if row["status"] in (WITHHELD, STALLED) else None


TROUBLES = {"SKIPPING": None, "WITHHELD": WITHHELD, "STALLED": STALLED}
"""Each :func:`trouble` with its status, None: it may have any."""


def classify(row: Row, stalled_after_ms: int) -> tuple[Status, str | None]:
    """Return the status of a row and why; one that is in sync and :func:`needs_comparison` is not final.

    Errs to not in sync: unknown counts as different.
    """
    withheld = (row["contest"] or row["state"]) if State[row["state"]].is_withheld else None
    causes = {
        Status.WITHHELD: withheld,
        Status.TARGET_ACTIVE: Reason.TARGET_HAS_MEMBERS() if row["is_target_active"] else None,
        Status.STALLED: None if withheld else _stalled(row, stalled_after_ms),
        Status.BEHIND: row["behind"],
        Status.MIRRORING: None if withheld or row["behind"] else _mirroring(row),
    }
    return next(((status, why) for status, why in causes.items() if why), (Status.IN_SYNC, None))


def behind(row: Row) -> str | None:
    """Return why the target does not have the translation, nor an offset that costs no more; None where it has."""
    found = _behind(row)
    return f"{found} ({Reason.OF_TABLES(row['silent'])})" if found and row["silent"] else found


def _behind(row: Row) -> str | None:
    if State[row["state"]].is_withheld:
        return None
    if row["has_moved_on"]:  # the reported position is stale: sync_offsets has not read the group's newest commit
        held = "no offset" if row["held_at_source"] is None else row["held_at_source"]
        return Reason.NOT_CAPTURED(row["source_cluster"], held, row["source_offset"])
    if row["target_offset"] is None:
        return Reason.NOTHING_COMMITTED()
    if row["skipped"] > 0:
        return Reason.TARGET_AHEAD(row["skipped"])
    if row["is_outside"]:
        return Reason.OUTSIDE_LOG(row["target_offset"])
    return Reason.TARGET_BEHIND(row["repeats"]) if row["repeats"] > 0 else None


def needs_comparison(row: Row) -> bool:
    """Return whether a row is in sync only if its next records are the same on both sides."""
    return bool(row["status"] == IN_SYNC and row["state"] != State.AT_FRONTIER.name)


def _stalled(row: Row, after_ms: int) -> str | None:
    if row["unreadable"] or row["index_silent_ms"] > after_ms:
        return row["unreadable"] or Reason.INDEX_SILENT(row["index_silent_ms"] // 1000)
    if row["behind"]:
        return str(row["behind"]) if row["staleness_ms"] > after_ms else None
    if row["source_end"] is None:
        return Reason.SOURCE_SILENT()
    return _not_mirrored(row) if row["mirror_lag_ms"] > after_ms else None


def _not_mirrored(row: Row) -> str | None:
    if row["pending"] > 0:
        return Reason.NOT_MIRRORED(row["pending"])
    return Reason.READ_NOT_MIRRORED(row["mirror_lag"]) if row["mirror_lag"] > 0 else None


def _mirroring(row: Row) -> str | None:
    causes = (
        (row["still_skips"], Reason.TOLD, row["still_skips"]),
        (row["pending"] > 0, Reason.NOT_MIRRORED, row["pending"]),
        (row["missing"] > 0, Reason.NEVER_THERE, row["missing"]),
        (row["mirror_lag"] > 0, Reason.READ_NOT_MIRRORED, row["mirror_lag"]),
        (row["repeats_at_most"] > 0, Reason.READ_ABOVE, row["repeats_at_most"]),
        (row["unindexed"] > 0, Reason.UNINDEXED, row["unindexed"]),
        (row["is_held_elsewhere"], Reason.COMMITS_UNREAD, None),
        (row["silent"], Reason.OF_TABLES, row["silent"]),
        (row["is_changing"], Reason.CHANGES, None),
        (row["is_unstamped"], Reason.UNSTAMPED, None),
        (row["unread"] > 0 and row["state"] == State.AT_FRONTIER.name, Reason.NOTHING_TO_COMPARE, None),
    )
    return next((reason(value) for holds, reason, value in causes if holds), None)


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
    for name, word in TROUBLES.items():
        if rows := [row for row in partitions if row["trouble"] == name]:
            counted = sum(row["skipped"] for row in rows)
            yield {"status": word, "text": Reason[name](of=_of_rows(rows), why=_reasons(rows), skipped=counted)}
    for row in filter(_is_drifting, pairs):
        pair, by = f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}", row["drift"]
        yield {"status": None, "text": Reason.PAIR_DRIFTS(pair, f"{by['windowed_change']:,}")}
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
