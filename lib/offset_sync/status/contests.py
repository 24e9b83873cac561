"""Groups that commit at two clusters at once: what is said of them, as long as neither is their home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from offset_sync.model.values import ABSENT, GroupPartition, State
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.state.sync_state import Side, SyncState
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


def with_contests(
    assessment: Assessment,
    found: Mapping[int, Sequence[Side]],
    checkpoints: Mapping[str, MirrorCheckpoints],
    now_ms: int,
) -> Assessment:
    """Withhold the rows in *found*, which are committed at both, and say where; *checkpoints* are MirrorMaker's."""
    reason, doubt = np.full((2, len(assessment.key)), None, np.object_)
    state: Codes = assessment.state.copy()
    for row, key in enumerate(assessment.key.tolist()):
        if sides := found.get(key):
            written = _by_mirror_maker(assessment.keys[row], sides, checkpoints)
            state[row], reason[row] = State.COMMITTED_AT_BOTH, reason_of_both(sides, now_ms, written)
            doubt[row] = f"written by MirrorMaker's group sync at {' and '.join(written)}" if written else None
    return replace(assessment, state=state, contest=reason, mirror_maker_doubt=doubt)


def sources_beside(
    state: SyncState, contests: Mapping[int, Sequence[Side]], checkpoints: Mapping[str, MirrorCheckpoints]
) -> dict[int, str]:
    """Return, of keys that two clusters commit, the one that is not MirrorMaker's, where just one is.

    There the group reads: a report compares what MirrorMaker makes of that commit with what we would.
    """
    found = {}
    for row, sides in contests.items():
        written = _by_mirror_maker(state.offsets.keys[row], sides, checkpoints)
        if others := [each.cluster for each in sides if written and each.cluster not in written]:
            found[row] = others[0]
    return found


def _by_mirror_maker(
    key: GroupPartition, sides: Sequence[Side], checkpoints: Mapping[str, MirrorCheckpoints]
) -> list[str]:
    """Return the clusters of *sides* that hold just the newest checkpoint of what is committed at another one."""
    found = []
    for each in sides:
        said = checkpoints.get(each.cluster)
        newest = [said.newest(other.cluster, key) for other in sides if other is not each] if said is not None else []
        if any(one is not None and one.offset == each.offset for one in newest):
            found.append(each.cluster)
    return found


def _offset(side: Side) -> str:
    return "nothing" if side.offset == ABSENT else str(side.offset)
