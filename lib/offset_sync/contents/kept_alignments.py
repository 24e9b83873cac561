"""How far the copies of each log are aligned, kept beside the checkpoints: who starts anew goes on from there.

It is written after the rows that it stands for, so it is never ahead of ``record_runs`` unless that was set back: then
it is not believed. An older one does as well.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.order import Anchors, OrderWatch
from offset_sync.contents.alignment.reach import Counts, Reach
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
_VERSION = 1


class Kept(NamedTuple):
    """The *state* of a log of copies, and when the last life of a log of its partition was noticed before, in ms."""

    state: AlignerState
    lives_ms: int


class KeptAlignments:
    """The file, one for all clusters below *checkpoints*."""

    def __init__(self, files: Files, checkpoints: str) -> None:
        self._files, self._folder = files, checkpoints.rstrip("/")

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{self._folder}/index_records.alignments.json"

    def read(self) -> dict[ClusterPartition, Kept]:
        """Return what is kept; nothing where nobody can read it."""
        try:
            found = json.loads(self._files.read_text(self.path))
            if found["version"] != _VERSION:
                raise ValueError(f"version {found['version']}")
            return {ClusterPartition(*log): Kept(_to_state(plain), lives_ms) for log, plain, lives_ms in found["logs"]}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError) as problem:
            logger.warning("%s cannot be read, so the mirror is looked for anew: %s", self.path, problem)
            return {}

    def write(self, kept: Mapping[ClusterPartition, Kept]) -> None:
        """Put *kept* in the place of what was kept before."""
        logs = [[list(log), _to_plain(each.state), each.lives_ms] for log, each in sorted(kept.items())]
        self._files.write_text(self.path, json.dumps({"version": _VERSION, "logs": logs}))


def _to_plain(state: AlignerState) -> dict[str, Any]:
    return {
        "frontier": state.frontier,
        "complete_ms": state.complete_ms,
        "reach": asdict(state.reach),
        "anchor": [state.anchor.offset.tolist(), state.anchor.original.tolist()],
        "watch": [each.tolist() for each in (state.watch.broken, state.watch.open_at, state.watch.open_before)],
        "counts": asdict(state.counts),
    }


def _to_state(plain: Mapping[str, Any]) -> AlignerState:
    reach = plain["reach"]
    marks = tuple((int(at_ms), int(newest)) for at_ms, newest in reach["marks"])
    return AlignerState(
        int(plain["frontier"]),
        Reach(**{**reach, "marks": marks, "row": tuple(map(int, reach["row"]))}),
        int(plain["complete_ms"]),
        Anchors(*(np.array(each, np.int64) for each in plain["anchor"])),
        OrderWatch(*(np.array(each, np.int64) for each in plain["watch"])),
        Counts(**plain["counts"]),
    )
