"""MirrorMaker's offsets beside ours: how far behind they are, what they would lose, and what cannot be told from them.

They are shown and compared, and nothing else: no answer, no status and no write follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.status.assessment import Assessment
from offset_sync.status.log_comparison import LogPair
from offset_sync.status.measure import cost_at, is_outside
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations


def checkpoint_offsets(said: MirrorCheckpoints | None, source: str, keys: Sequence[GroupPartition]) -> Int64s:
    """Return where MirrorMaker would have the groups of *source*, ABSENT where it has not said; shape (keys,)."""
    found = np.full(len(keys), ABSENT, np.int64)
    if said is not None and said.is_there:
        newest = (said.newest(source, key) for key in keys)
        found[:] = [ABSENT if each is None else each.offset for each in newest]
    return found


def with_checkpoints(assessment: Assessment, logs: LogPair, answers: Translations, offset: Int64s) -> Assessment:
    """Add what going on at *offset* (MirrorMaker's, ABSENT for none) would cost, compared with the translation.

    ABSENT where the commit is withheld, or the target's log does not reach it. Errs to more lost: what is not known to
    be read counts as unread.
    """
    is_said = offset != ABSENT
    position = np.where(is_said, offset, 0)
    repeats, lost = cost_at(logs, assessment.source_offset, answers, position, is_said)
    is_known = is_said & ~IS_WITHHELD[answers.state] & ~is_outside(logs.target_metadata, position)
    return replace(
        assessment,
        mirror_maker_offset=offset,
        mirror_maker_behind=np.where(is_known, np.maximum(repeats, 0), ABSENT),
        mirror_maker_lost=np.where(is_known, lost, ABSENT),
    )
