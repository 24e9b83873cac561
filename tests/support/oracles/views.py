"""What each view, and a failover at a moment, has to show, row by row: by the words of its columns, not by its SQL."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

Row = dict[str, Any]
Rows = list[Row]
KEY = ("group_id", "topic", "partition")
PAIR = ("source_cluster", "target_cluster")
_EVER = datetime(1, 1, 1, tzinfo=timezone.utc)
_COMMIT = (*PAIR, *KEY, "source_offset", "source_committed_at")


def at(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def grouped(rows: Iterable[Row], names: Iterable[str]) -> dict[tuple[Any, ...], Rows]:
    found: dict[tuple[Any, ...], Rows] = defaultdict(list)
    chosen = tuple(names)
    for row in rows:
        found[at(row, chosen)].append(row)
    return found


def millis(later: datetime | None, earlier: datetime | None) -> int | None:
    """Return the milliseconds between, None where one is not known."""
    return None if later is None or earlier is None else (later - earlier) // timedelta(milliseconds=1)


def with_lives(commits: Rows, lives: Rows) -> Rows:
    """Return each record with the time at which its log's incarnation began, and whether it is still there."""
    found = []
    for row in commits:
        begun = [
            life["noticed_at"]
            for life in lives
            if (life["topic"], life["cluster"], life["partition"])
            == ("__consumer_offsets", row["cluster"], row["log_partition"])
            and life["reason"] in ("TOPIC_RECREATED", "LOG_TRUNCATED")
            and life["begins_at"] <= row["log_offset"]
        ]
        since = max([_EVER, *(at for at in begun if at < row["captured_at"])])
        found.append(row | {"life": since, "stands": all(at < row["captured_at"] for at in begun)})
    return found


def captured_once(commits: Rows) -> Rows:
    copies = grouped(commits, ("cluster", "log_partition", "log_offset", "life"))
    return [min(same, key=lambda row: row["captured_at"]) for same in copies.values()]


def logs(commits: Rows, lives: Rows) -> dict[tuple[Any, ...], Rows]:
    """Return the records of each key of each cluster in the order of the log, life by life."""
    by_key = grouped(captured_once(with_lives(commits, lives)), ("cluster", *KEY))
    return {key: sorted(rows, key=lambda row: (row["life"], row["log_offset"])) for key, rows in by_key.items()}


def current_offsets(commits: Rows, lives: Rows) -> Rows:
    """Return the newest present record of each key, if it names a position."""
    standing = [[row for row in rows if row["stands"]] for rows in logs(commits, lives).values()]
    newest = [max(rows, key=lambda row: row["log_offset"]) for rows in standing if rows]
    return [row for row in newest if row["committed_offset"] is not None and row["committed_offset"] >= 0]


def offset_history(commits: Rows, lives: Rows) -> Rows:
    """Return every record beside its neighbours."""
    found = []
    for rows in logs(commits, lives).values():
        for before, row, after in zip([None, *rows], rows, [*rows[1:], None], strict=False):
            here, previous = _position(row), None if before is None else _position(before)
            moved = _difference(here, previous)
            ended = None if after is None else "tombstone" if after["is_tombstone"] else "commit"
            replaced_at = None if after is None else after["committed_at"]
            beside = {
                "previous_offset": previous,
                "moved": moved,
                "is_rewind": moved is not None and moved < 0,
                "replaced_at": replaced_at,
                "replaced_by": ended,
                "stood_ms": millis(replaced_at, row["committed_at"]),
            }
            found.append(row | beside)
    return found


def _position(row: Row) -> int | None:
    offset: int | None = row["committed_offset"]
    return offset if offset is not None and offset >= 0 else None


def _difference(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def lag(status: Rows) -> Rows:
    """Return the newest report with the ages worked out."""
    found = []
    for row in status:
        age_ms = millis(row["reported_at"], row["source_committed_at"])
        behind = _difference(row["wanted_offset"], row["target_offset"])
        found.append(row | {"commit_age_ms": age_ms, "behind": behind})
    return found


def translation_quality(translations: Rows) -> Rows:
    """Return a row per day, pair, topic and strategy."""
    first: dict[tuple[Any, ...], datetime] = {}
    for row in translations:
        if row["committed_at"] is not None:
            commit = at(row, _COMMIT)
            first[commit] = min(first.get(commit, row["committed_at"]), row["committed_at"])
    dated = [row | {"day": _midnight(row["translated_at"])} for row in translations]
    found = []
    for key, rows in grouped(dated, ("day", *PAIR, "topic", "strategy")).items():
        waits = [
            millis(row["committed_at"], row["source_committed_at"])
            for row in rows
            if row["committed_at"] is not None
            and row["committed_at"] == first[at(row, _COMMIT)]
            and row["previous_target_offset"] != row["target_offset"]
        ]
        found.append(dict(zip(("day", *PAIR, "topic", "strategy"), key, strict=True)) | _quality(rows, waits))
    return found


def _quality(rows: Rows, waits: list[int | None]) -> Row:
    def share(is_meant: Callable[[Row], bool]) -> float:
        return sum(map(is_meant, rows)) / len(rows)

    def state(name: str) -> float:
        return share(lambda row: row["state"] == name and row["outcome"] != "WITHHELD")

    duplicates = [row["duplicates"] for row in rows if row["duplicates"] is not None]
    states = ("EXACT", "AT_FRONTIER", "INDEX_BEHIND", "APPROXIMATE", "REWIND")
    return {f"{name.lower()}_share": state(name) for name in states} | {
        "answers": len(rows),
        "withheld_share": share(lambda row: row["outcome"] == "WITHHELD"),
        "failed_share": share(lambda row: row["outcome"] == "FAILED"),
        "writes": len(waits),
        "duplicates_p50": rank(duplicates, 0.5),
        "duplicates_p95": rank(duplicates, 0.95),
        "duplicates_max": max(duplicates, default=None),
        "lost_max": max((row["lost"] for row in rows if row["lost"] is not None), default=None),
        "latency_p50_ms": rank(waits, 0.5),
        "latency_p95_ms": rank(waits, 0.95),
        "latency_max_ms": rank(waits, 1.0),
    }


def rank(values: list[Any], share: float) -> Any:
    """Return the smallest value that at least *share* of all do not exceed; None of none."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def sync_decisions(translations: Rows) -> Rows:
    """Return every answer; the words of *why* are not told here, only how they begin."""
    begins = {"COMMITTED": "written", "FAILED": "not acknowledged", "WITHHELD": "withheld"}
    found = []
    for row in translations:
        decision = {
            "is_written": row["outcome"] == "COMMITTED",
            "why": begins.get(row["outcome"], "not written"),
            "moved": _difference(row["target_offset"], row["previous_target_offset"]),
            "decided_by": "reconcile" if row["batch_id"] is None else "stream",
            "latency_ms": millis(row["committed_at"], row["source_committed_at"]),
            "target_topic": row["target_topic"],
        }
        found.append(row | decision)
    return found


_STANDS = {"COMMITTED", "UNCHANGED", "NOT_FORWARD", "TARGET_ACTIVE"}


def failover_cost(moment: datetime, commits: Rows, translations: Rows, runs: Rows, lives: Rows) -> Rows:
    """Return a row per source, target, group, topic and partition."""
    answers = [row | {"since": row["committed_at"] or row["translated_at"]} for row in translations]
    answers = sorted((row for row in answers if row["since"] <= moment), key=lambda row: row["since"])
    ways = {at(row, (*PAIR, *KEY)) for row in translations}
    known = [row for row in runs if row["indexed_at"] <= moment and row["length"] > 0]
    found = []
    history = logs(commits, lives)
    for commit in owned(moment, history):
        for source, target, *key in ways:
            if source == commit["cluster"] and tuple(key) == at(commit, KEY):
                mine = [row for row in answers if at(row, KEY) == tuple(key) and row["target_cluster"] == target]
                own = history.get((target, *key), [])
                theirs = [row for row in own if row["committed_at"] <= moment and _is_of_the_group(row)]
                cost = _cost(commit, mine, theirs, _not_mirrored(commit, target, known))
                found.append(cost | {"moment": moment, "target_cluster": target})
    return found


def owned(moment: datetime, history: dict[tuple[Any, ...], Rows]) -> Rows:
    """Return, per key, the newest commit that a group itself has made anywhere, unless it was deleted by then."""
    last: dict[tuple[Any, ...], tuple[Row, Row | None]] = {}
    for records in history.values():
        for row, after in zip(records, [*records[1:], None], strict=True):
            is_position = row["committed_offset"] is not None and row["committed_offset"] >= 0
            if row["is_own"] or not is_position or row["committed_at"] > moment:
                continue
            key = at(row, KEY)
            if key not in last or row["committed_at"] > last[key][0]["committed_at"]:
                last[key] = (row, after)
    return [
        row
        for row, after in last.values()
        if after is None or not after["is_tombstone"] or after["committed_at"] > moment
    ]


def _is_of_the_group(row: Row) -> bool:
    """True where a record at the target undoes what Offset Sync has written there."""
    return bool(row["is_tombstone"] or not row["is_own"])


def _cost(commit: Row, answers: Rows, theirs: Rows, not_mirrored: int | None) -> Row:
    source, last = commit["cluster"], max(theirs, key=lambda row: row["committed_at"], default=None)
    newest = next((row for row in reversed(answers) if row["source_cluster"] == source), None)
    standing = next((row for row in reversed(answers) if row["outcome"] in _STANDS), None)
    row: Row = {name: commit[name] for name in KEY} | {
        "source_cluster": source,
        "source_offset": commit["committed_offset"],
        "source_committed_at": commit["committed_at"],
        "not_mirrored": not_mirrored,
        "state": newest and newest["state"],
        "outcome": newest and newest["outcome"],
    }
    row |= dict.fromkeys(("target_offset", "answered_offset", "duplicates", "read_since", "repeats_at_most"))
    row |= dict.fromkeys(("deleted", "lost"))
    if last is not None and (standing is None or last["committed_at"] >= standing["since"]):
        is_position = last["committed_offset"] is not None and last["committed_offset"] >= 0
        return row | {"target_offset": last["committed_offset"] if is_position else None}
    if standing is None:
        return row
    if standing["outcome"] not in ("COMMITTED", "UNCHANGED"):
        return row | {"target_offset": standing["previous_target_offset"]}
    row |= {"target_offset": standing["target_offset"], "answered_offset": standing["source_offset"]}
    is_void = newest is not None and newest["outcome"] == "WITHHELD" and newest["state"] != "CLUSTER_UNREACHABLE"
    if standing["source_cluster"] != source or is_void:
        return row
    read_since = max(0, commit["committed_offset"] - standing["source_offset"])
    return row | {
        "duplicates": standing["duplicates"],
        "read_since": read_since,
        "deleted": standing["lost"],
        "repeats_at_most": standing["duplicates_at_most"] + read_since,
        "lost": None if not_mirrored is None else standing["lost"] + not_mirrored,
    }


def _not_mirrored(commit: Row, target: str, runs: Rows) -> int | None:
    """Return how many offsets from the commit on are at the source and not at the target."""
    source = commit["cluster"]
    here = [run for run in runs if at(run, KEY[1:]) == at(commit, KEY[1:]) and run["origin"] == source]
    made = [run for run in here if run["cluster"] == source]
    if not made:
        return None
    end: int = max(run["origin_start"] + run["length"] for run in made)
    arrived = [run["origin_start"] + run["length"] for run in here if run["cluster"] == target]
    begin: int = max(arrived) if arrived else min(run["origin_start"] for run in made)
    offset: int = commit["committed_offset"]
    return max(0, end - max(offset, begin))
