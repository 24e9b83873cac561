"""What protects groups while the job itself is run in another way, taken out: the simulation has to find it."""

from __future__ import annotations

from typing import Any

import numpy as np

from offset_sync.sync.offset_writer import _Batch
from offset_sync.translate.exact import Answers, translate_no_later
from simulation.finding import Remedy

_try = _Batch._try


def _as_chosen(committed: Any, chosen: Any, *of_logs: Any) -> Answers:
    answers = translate_no_later(committed, chosen, *of_logs)
    offset = np.where(chosen >= 0, chosen, answers.offset)
    is_too_late = np.zeros(len(offset), np.bool_)
    return answers._replace(offset=offset, clamped_offset=offset, is_too_late=is_too_late)


def _try_as_if_it_were_to_write(batch: Any, left: float, ends_at: float) -> None:
    batch.dry_run = False
    _try(batch, left, ends_at)


OF_JOBS_CLOSED = {
    "a strategy answers no later than exact": Remedy(
        frozenset({"by_header", "reorder", "late"}),
        (("offset_sync.translate.partition.translate_no_later", _as_chosen),),
        seed=1,
    ),
    "with --no-writes nothing is written": Remedy(
        frozenset({"no_writes"}),
        (("offset_sync.sync.offset_writer._Batch._try", _try_as_if_it_were_to_write),),
        seed=1,
    ),
}
