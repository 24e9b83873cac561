"""From answers to writes: what has to be asked of the target, and what follows without asking. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import OffsetWrite, Outcome, Rule, State
from offset_sync.state.column_store import ColumnStore
from offset_sync.state.committed_offsets import OWN_TAG, CommittedOffsets
from offset_sync.state.ownership import rules
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations

KeyRows = NDArray[np.intp]


@dataclass(frozen=True)
class WritePlan:
    """*writes* are to be asked of the target, ``rows[i]`` is the answer that ``writes[i]`` belongs to.

    *outcome* and *error* hold for all other rows; *state* is the answers' state with REWIND put in; *previous* is
    what is believed to stand at the target, -1 for nothing.
    """

    writes: list[OffsetWrite]
    rows: NDArray[np.intp]
    state: NDArray[np.intp]
    previous: Int64s
    outcome: NDArray[np.intp]


def plan_writes(
    book: CommittedOffsets,
    source: str,
    target: str,
    key: KeyRows,
    answers: Translations,
    answered_at_ms: Int64s,
    *,
    refresh_before_ms: int,
    is_first: bool,
) -> WritePlan:
    """Decide, per answer, whether the target has to be asked; shapes (answers,).

    *answered_at_ms* is the time of the source's commit that was last answered (-1: none), *refresh_before_ms* the time
    before which our own value has to be written again lest it expires. *is_first*: ask about every answer.
    """
    mine, there = book.clusters[source].columns, book.clusters[target].columns
    actual = there["actual_offset"][key].copy()
    rewound_at_ms = mine["rewound_at_ms"][key]
    rule = rules(actual, there["actual_is_own"][key], there["actual_at_ms"][key], rewound_at_ms)
    is_withheld = IS_WITHHELD[answers.state]
    is_held = (actual == answers.wanted) & ~is_withheld
    is_refreshed = is_held & refresh_due(there, key, refresh_before_ms)
    is_backward = ~is_held & (rule == Rule.FORWARD) & (answers.wanted < actual)
    is_asked = ~is_withheld & (is_first | is_refreshed | ~(is_held | is_backward))
    outcome = np.select(
        [is_withheld, is_backward], [Outcome.WITHHELD, Outcome.NOT_FORWARD],
        Outcome.UNCHANGED,
    )  # fmt: skip
    went_back = np.where(rule == Rule.FOLLOW, True, rewound_at_ms > answered_at_ms)
    is_rewind = went_back & (rewound_at_ms >= 0) & (answers.wanted < actual) & ~is_withheld & ~is_backward
    state = np.where(is_rewind, State.REWIND, answers.state)
    rows = np.flatnonzero(is_asked)
    return WritePlan(
        _writes(book, source, key, answers, rows, rule, actual, is_refreshed), rows, state, actual, outcome
    )


def _writes(
    book: CommittedOffsets,
    source: str,
    key: KeyRows,
    answers: Translations,
    rows: NDArray[np.intp],
    rule: NDArray[np.intp],
    actual: Int64s,
    is_refreshed: NDArray[np.bool_],
) -> list[OffsetWrite]:
    metadata, asked = book.clusters[source].metadata, key[rows].tolist()
    return [
        OffsetWrite(
            group_id=book.keys[place][0],
            topic=book.keys[place][1],
            partition=book.keys[place][2],
            offset=wanted,
            metadata=metadata.get(place, OWN_TAG),
            rule=Rule(code),
            expected_offset=None if before < 0 else before,
            refresh=refresh,
        )
        for place, wanted, code, before, refresh in zip(
            asked,
            answers.wanted[rows].tolist(),
            rule[rows].tolist(),
            actual[rows].tolist(),
            is_refreshed[rows].tolist(),
            strict=True,
        )
    ]


def refresh_due(there: ColumnStore, key: KeyRows, refresh_before_ms: int) -> NDArray[np.bool_]:
    """Return where our own value at a target was last written before *refresh_before_ms*."""
    is_ours = there["actual_is_own"][key] & (there["actual_offset"][key] >= 0)
    due: NDArray[np.bool_] = is_ours & (there["actual_at_ms"][key] < refresh_before_ms)
    return due
