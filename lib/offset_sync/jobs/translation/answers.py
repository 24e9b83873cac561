"""Answers as a table of Arrow: what was given, and what is added to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from offset_sync.jobs.translation.offset_table import OffsetTable
from offset_sync.model.values import State
from offset_sync.status.kept_offsets import KeptAnswers

_NAMES = pa.array([state.name for state in State])


def to_answer_table(
    table: OffsetTable, answers: KeptAnswers, target_topics: Sequence[str | None] | None = None
) -> pa.Table:
    """Return the columns given with ``target_offset``, ``state``, ``duplicates``, … and ``reason``, a row per offset.

    ``topic`` is text, ``partition`` and ``offset`` are numbers, the others as they were given. Null: the offsets and
    counts of what is withheld, the reason of what is not. With *target_topics*, one for each topic of *table*, also
    ``target_topic``: what it is called at the target.
    """
    offsets, is_withheld = table.offsets, answers.is_withheld
    numbers = {"partition": pa.array(offsets.partition, pa.int32()), "offset": pa.array(offsets.offset)}
    given = {name: numbers.get(name, table.given.column(name)) for name in table.given.column_names}
    reasons = pa.array(answers.reasons, pa.string())
    called = {} if target_topics is None else {"target_topic": pa.array(target_topics, pa.string())}
    found = {name: each.take(pa.array(offsets.topic)) for name, each in called.items()} | {
        "target_offset": pa.array(answers.target_offset, mask=is_withheld),
        "state": pa.DictionaryArray.from_arrays(pa.array(answers.state, pa.int32()), _NAMES).cast(pa.string()),
        "duplicates": pa.array(answers.duplicates, mask=is_withheld),
        "duplicates_at_most": pa.array(answers.duplicates_at_most, mask=is_withheld),
        "lost": pa.array(answers.lost, mask=is_withheld),
        "reason": reasons.take(pa.array(np.maximum(answers.reason, 0), pa.int32(), mask=answers.reason < 0)),
    }
    return pa.table(given | found)


def summary(answers: KeptAnswers) -> list[str]:
    """Return one line that says how many offsets have no answer, and why; nothing where all have one."""
    codes, counts = np.unique(answers.state[answers.is_withheld], return_counts=True)
    if len(codes) == 0:
        return []
    told = ", ".join(f"{State(code).name} {n:,}" for code, n in zip(codes.tolist(), counts.tolist(), strict=True))
    return [f"{counts.sum():,} of {len(answers.state):,} offsets are withheld: {told}"]
