"""What may be answered of copies byte for byte, judged by the contents of the logs and by nothing else."""

from __future__ import annotations

from itertools import accumulate

from leaving.linked_clusters import COPY, ORIGINAL, LinkedClusters
from offset_sync.model.values import State

NEVER = 1 << 40
WAYS = ((ORIGINAL, COPY), (COPY, ORIGINAL))


def said(world: LinkedClusters, source: str, target: str) -> list[tuple[int, str]]:
    """Return the answer and its state for every offset that a group can have committed at *source*."""
    found = world.answers(source, target, list(range(len(world.logs[source]) + 1)))
    return [(offset, State(state).name) for offset, state in zip(found.wanted.tolist(), found.state.tolist())]


def states(world: LinkedClusters, source: str, target: str) -> set[str]:
    return {state for _, state in said(world, source, target)}


def skipped(world: LinkedClusters) -> list[tuple[str, str, int, int]]:
    """Return the answers beyond a record that the group has not read, judged by the contents of the logs."""
    found = []
    for source, target in WAYS:
        here = list(world.logs[source])
        commits = list(range(len(here) + 1))
        wanted = world.answers(source, target, commits).wanted.tolist()
        place = {record: offset for offset, record in enumerate(here)}
        # So much has to be read at the source for all below an offset of the target to be read.
        needed = [0, *accumulate((place.get(each, NEVER) + 1 for each in world.logs[target]), max)]
        found += [(source, target, c, answer) for c, answer in zip(commits, wanted) if needed[max(answer, 0)] > c]
    return found
