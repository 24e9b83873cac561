"""What a failover at a moment would have cost, found by reading everything that was there by then, in plain Python."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from oracles.views import KEY, PAIR, Row, Rows, at, logs

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
