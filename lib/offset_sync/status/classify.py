"""One status per partition of a group: may it be moved now, or what it waits for. A row in, its status and why out."""

from __future__ import annotations

from typing import Any

from offset_sync.model.reasons import Reason
from offset_sync.model.values import State, Status

Row = dict[str, Any]


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
    return bool(row["status"] == Status.IN_SYNC.word and _has_next_at_target(row))


def _has_next_at_target(row: Row) -> bool:
    return bool(row["state"] != State.AT_FRONTIER.name)


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
        (row["unread"] > 0 and not _has_next_at_target(row), Reason.NOTHING_TO_COMPARE, None),
    )
    return next((reason(value) for holds, reason, value in causes if holds), None)
