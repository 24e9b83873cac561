"""Offsets of one partition as they are given to be translated, and which of them are of records that are gone.

An offset says that everything below it is read: by a group that has committed it, or by whoever else keeps it. It says
so of the log as it was when the offset was made. Where the log has begun another life since, other records stand there,
and of those nobody knows::

    log        life 1: 0 ......... 90    cut at 40, noticed 12:00    life 2: 40 ......... 70
    offset 60  made at 11:00: of life 1       made at 12:30: of life 2       nobody knows when: of either
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, EpochEnd, State
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.runs import Int64s


class GivenOffsets(NamedTuple):
    """Offsets at the source, each the next to read, and what is known of how they were made; shape (offsets,).

    *at_ms* is when (since the epoch), *leader_epoch* that of the last record read, ``ABSENT`` where nobody knows it.
    *topic_ids* are the incarnations of the topic that they name (None: it names none). *stands* says for which of them
    the last answer can be given again; None: for none.
    """

    offset: Int64s
    at_ms: Int64s
    leader_epoch: Int64s
    topic_ids: Sequence[str | None]
    stands: NDArray[np.bool_] | None = None


def of_former_lives(given: GivenOffsets, lives: Sequence[Incarnation]) -> NDArray[np.intp]:
    """Return the reason to withhold each offset that may have been made in an earlier life of its log, else ABSENT.

    It says that records were read which stand there no more; of those that stand there now nobody knows. One that names
    the topic's present incarnation belongs to it; a cut log keeps its topic, so then only time tells. Errs to
    withholding: what was made at an unknown time may be of any life.
    """
    reasons = np.full(len(given.offset), ABSENT, np.intp)
    for life in lives:
        names_it = np.array([life.is_anew and each == life.topic_id for each in given.topic_ids], np.bool_)
        is_earlier = given.at_ms <= life.noticed_ms + CLOCKS_APART_MS
        reason = State.TOPIC_RECREATED if life.is_anew else State.LOG_TRUNCATED
        reasons[(given.offset > life.begins_at) & is_earlier & ~names_it] = reason
    return reasons


def of_lost_records(given: GivenOffsets, ends: Sequence[EpochEnd]) -> NDArray[np.intp]:
    """Return the reason to withhold each offset whose last record was lost when another leader was elected.

    It need not have been indexed. Whoever does not say which epoch was read is believed, as Kafka does.
    """
    reasons = np.full(len(given.offset), ABSENT, np.intp)
    for each in ends:
        is_lost = (given.leader_epoch != ABSENT) & (given.leader_epoch < each.below) & (given.offset > each.end)
        reasons[is_lost] = State.LOG_TRUNCATED
    return reasons
