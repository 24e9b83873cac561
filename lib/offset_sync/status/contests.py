"""Groups that commit at two clusters at once: what is said of them, as long as neither is their home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from offset_sync.model.values import ABSENT, State
from offset_sync.state.sync_state import Side
from offset_sync.status.assessment import Assessment, Codes
from offset_sync.status.format import to_duration


def reason_of_both(sides: Sequence[Side], now_ms: int, written_by_mirror_maker: Sequence[str] = ()) -> str:
    """Return why nothing is written for what is committed at all *sides*, with what to do.

    *written_by_mirror_maker* are those of them whose commit is just what MirrorMaker's group sync would write there.
    """
    told = [f"{each.cluster} ({_offset(each)}, {to_duration(max(now_ms - each.at_ms, 0))} ago)" for each in sides]
    text = f"committed at both {' and '.join(told)} within sync.home_silence: "
    if not written_by_mirror_maker:
        return text + "stop one reader, or decide with cutover"
    where = " and ".join(written_by_mirror_maker)
    return text + f"written by MirrorMaker's group sync at {where}: set sync.group.offsets.enabled = false"


def with_contests(assessment: Assessment, found: Mapping[int, Sequence[Side]], now_ms: int) -> Assessment:
    """Withhold the rows in *found*, which are committed at both, and say where."""
    reason = np.full(len(assessment.key), None, np.object_)
    state: Codes = assessment.state.copy()
    for row, key in enumerate(assessment.key.tolist()):
        if sides := found.get(key):
            state[row] = State.COMMITTED_AT_BOTH
            reason[row] = reason_of_both(sides, now_ms, _by_mirror_maker(assessment, row, sides))
    return replace(assessment, state=state, contest=reason)


def _by_mirror_maker(assessment: Assessment, row: int, sides: Sequence[Side]) -> list[str]:
    """Return the target of the pair where what is committed there is MirrorMaker's newest checkpoint."""
    said = int(assessment.mirror_maker_offset[row])
    return [
        each.cluster for each in sides if said != ABSENT and each.cluster == assessment.target and each.offset == said
    ]


def _offset(side: Side) -> str:
    return "nothing" if side.offset == ABSENT else str(side.offset)
