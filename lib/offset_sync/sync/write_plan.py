"""From translations to writes: which need a request to the target, and the outcome of the others. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, GroupPartition, OffsetWrite, Outcome, State
from offset_sync.state.committed_offsets import ClusterOffsets, CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Commits
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations

# As numbers, since numpy is slow with members of an enumeration.
_WITHHELD, _NOT_FORWARD, _UNCHANGED = (int(each) for each in (Outcome.WITHHELD, Outcome.NOT_FORWARD, Outcome.UNCHANGED))
_REWIND = int(State.REWIND)
_TOPIC_IS_GONE = (int(State.TOPIC_MISSING), int(State.TOPIC_RECREATED))


@dataclass(frozen=True)
class Translated:
    """The *commits* of *source* translated to *target*, a row per key.

    *answered_offset* is the source's commit that was answered last, ABSENT for none.
    """

    source: str
    target: str
    commits: Commits
    answers: Translations
    answered_offset: Int64s
    translated_at_ms: int


@dataclass(frozen=True)
class WritePlan:
    """*writes* are to be sent to the target, ``rows[i]`` is the translation that ``writes[i]`` belongs to.

    *outcome* is valid for all other rows; *state* is the translations' state with REWIND put in; *previous* is the
    offset expected at the target, ABSENT for none.
    """

    writes: list[OffsetWrite]
    rows: NDArray[np.intp]
    state: NDArray[np.intp]
    previous: Int64s
    outcome: NDArray[np.intp]

    def without(self, rows: Collection[int]) -> WritePlan:
        """Return the same without the writes of *rows*."""
        is_kept = ~np.isin(self.rows, list(rows))
        writes = [write for write, kept in zip(self.writes, is_kept.tolist(), strict=True) if kept]
        return replace(self, writes=writes, rows=self.rows[is_kept]) if rows else self


def plan_writes(
    offsets: CommittedOffsets,
    translated: Translated,
    *,
    epoch: Int64s,
    refresh_before_ms: int,
    asks_everything: bool,
    is_decided: bool,
) -> WritePlan:
    """Decide, per translation, whether the target needs a request.

    *epoch* is the target's leader epoch to commit with each answer, ABSENT where unknown. *refresh_before_ms*: our own
    value written before is written again, so that it does not expire; also that of a group whose offsets were deleted
    with their topic, which has no answer any more. *asks_everything*: request every translation, as is done for keys
    whose coordinator has moved. *is_decided*: an operator has named the source, so the target is set to the answer.
    Errs to a request, which changes nothing.

    Nothing there (negative offset) or our own value: set it, up or down. A value of others, which is older than the
    home's position or the target would be the home: forward only, unless the home has gone back since. A request
    for an answer below it expects nothing at the target.
    """
    key, answers = translated.commits.key, translated.answers
    home, target = offsets.clusters[translated.source], offsets.clusters[translated.target]
    mine, there = home.columns, target.columns
    actual = there["actual_offset"][key].copy()
    is_free = ~is_theirs(there, key) | is_decided
    is_followed = ~is_free & _has_gone_back(home, target, key)
    is_withheld = IS_WITHHELD[answers.state]
    is_gone = np.isin(answers.state, _TOPIC_IS_GONE) & mine["is_deleted"][key]
    wanted = np.where(is_gone, actual, answers.wanted)
    stays = _is_newer_word(home, target, key, wanted) | _is_raised_by_ours(mine, key, actual, answers)
    if is_decided:
        stays = np.zeros_like(stays)
    is_held = (actual == wanted) & ~(is_withheld & ~is_gone)
    is_refreshed = is_held & refresh_due(there, key, refresh_before_ms)
    is_backward = ~is_held & ((~is_free & ~is_followed & (wanted < actual)) | stays)
    is_open = (asks_everything | target.has_moved(key)) & ~stays
    is_asked = np.where(is_withheld, is_refreshed, is_open | is_refreshed | ~(is_held | is_backward))
    outcome = np.where(is_withheld, _WITHHELD, np.where(is_backward, _NOT_FORWARD, _UNCHANGED))
    went_back = is_followed | (translated.commits.offset < translated.answered_offset)
    is_rewind = went_back & (mine["rewound_ms"][key] >= 0) & (wanted < actual) & ~is_withheld & ~is_backward
    state = np.where(is_rewind, _REWIND, answers.state)
    rows = np.flatnonzero(is_asked)
    columns = (key, wanted, np.where(is_backward, ABSENT, actual), epoch, is_refreshed)
    writes = [
        _to_write(offsets.keys[row], *rest)
        for row, *rest in zip(*(each[rows].tolist() for each in columns), strict=True)
    ]
    return WritePlan(writes, rows, state, actual, outcome)


def _to_write(key: GroupPartition, offset: int, before: int, epoch: int, refresh: bool) -> OffsetWrite:
    """Return the write of a key; *epoch* is that of the leader whose log reaches the answer, negative for unknown."""
    return OffsetWrite(
        group_id=key.group_id,
        topic=key.topic,
        partition=key.partition,
        offset=offset,
        leader_epoch=None if epoch < 0 else epoch,
        expected_offset=None if before < 0 else before,
        refresh=refresh,
    )


def is_theirs(there: ColumnStore, key: KeyRows) -> NDArray[np.bool_]:
    """Return for which of *key* a target holds a value that we have not written."""
    found: NDArray[np.bool_] = (there["actual_offset"][key] >= 0) & ~there["actual_is_own"][key]
    return found


def _has_gone_back(home: ClusterOffsets, target: ClusterOffsets, key: KeyRows) -> NDArray[np.bool_]:
    """Return for which of *key* the home went back after what is at the target may have been written, by our clock."""
    found: NDArray[np.bool_] = home.columns["rewound_ms"][key] > target.earliest_ms("actual", key)
    return found


def _is_newer_word(home: ClusterOffsets, target: ClusterOffsets, key: KeyRows, wanted: Int64s) -> NDArray[np.bool_]:
    """Return for which of *key* the group's own last commit at the target is newer than that at its home.

    A group has one home for all partitions of a topic. For one not committed there since, the target may have the newer
    commit: a reset before the group moved. Where polls leave the order open, errs to the lower of both.
    """
    mine, there = home.columns, target.columns
    # The group's own survives truncations.
    held_ms = np.maximum(mine["actual_made_ms"][key], mine["genuine_made_ms"][key])
    held_since_ms = np.maximum(home.earliest_ms("actual", key), home.earliest_ms("genuine", key))
    actual = there["actual_offset"][key]
    may_be_newer = there["actual_made_ms"][key] > held_since_ms
    is_newer = target.earliest_ms("actual", key) > held_ms
    found: NDArray[np.bool_] = is_theirs(there, key) & np.where(wanted > actual, may_be_newer, is_newer)
    return found


def _is_raised_by_ours(mine: ColumnStore, key: KeyRows, actual: Int64s, answers: Translations) -> NDArray[np.bool_]:
    """Return for which keys our own write at the home would raise the target's offset, or begin above unread records.

    It may have been clamped to the home's log start, above records unread elsewhere. Errs to repeats. At a log start
    errs to a target without an offset until the group commits at its home.
    """
    is_raised = (answers.wanted > actual) & ((actual >= 0) | answers.is_at_start)
    found: NDArray[np.bool_] = mine["actual_is_own"][key] & is_raised
    return found


def refresh_due(there: ColumnStore, key: KeyRows, refresh_before_ms: int) -> NDArray[np.bool_]:
    """Return where our own value at a target was last written before *refresh_before_ms*."""
    is_ours = there["actual_is_own"][key] & (there["actual_offset"][key] >= 0)
    due: NDArray[np.bool_] = is_ours & (there["actual_made_ms"][key] < refresh_before_ms)
    return due
