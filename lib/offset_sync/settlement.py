"""What settling works with and what it results in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.planning import Plan
from offset_sync.translate.keys import Keys
from offset_sync.translate.logindex import LogIndex
from offset_sync.translate.partition import Translations
from offset_sync.translate.runs import Int64s


class Index(Protocol):
    """The record index, as ``spark.runcache.RunCache`` offers it."""

    def refresh(self) -> None:
        """Catch up with the tables."""

    def log(self, cluster: str, topic: str, partition: int) -> LogIndex | None:
        """Return what is indexed of a partition."""

    def topic_ids(self, cluster: str, topic: str) -> set[str]:
        """Return the incarnations of a topic that were indexed."""

    def code(self, origin: str) -> int:
        """Return the code of an origin."""


@dataclass(frozen=True)
class Settlement:
    """Answers from one source to one target and what became of them, one row per key; see offset_translations."""

    source: str
    target: str
    batch_id: int | None
    translated_at_ms: int
    committed_at_ms: int
    key: Keys
    source_offset: Int64s
    source_at_ms: Int64s
    answers: Translations
    plan: Plan
    previous: Int64s
    outcome: NDArray[np.intp]
    error: Mapping[int, str]
    is_news: NDArray[np.bool_]
