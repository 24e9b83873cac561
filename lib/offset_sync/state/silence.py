"""What does not answer now, and is asked again in the background until it does: nobody waits for it a second time.

Of a cluster that is all of it, or some partitions whose leader is away or silent while the others answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Set

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

logger = logging.getLogger(__name__)
RETRY_S = 2.0
FORGOTTEN_S = 60.0
"""Where nobody has wanted to know for so long, it is not asked any more."""

Ask = Callable[[str, Collection[TopicPartition]], Collection[TopicPartition]]
"""Asks a cluster about partitions and returns those that exist and do not answer; ClusterError where nobody does."""


class Silence:
    """Silent clusters and partitions, by alias; threads may share it.

    *ask* is called every *retry_seconds* in a thread per cluster, *on_return* by it when something answers again.
    """

    def __init__(self, ask: Ask, on_return: Callable[[], None] = lambda: None, retry_seconds: float = RETRY_S) -> None:
        self._ask, self._on_return, self._retry_s = ask, on_return, retry_seconds
        self._lock = threading.Lock()
        self._errors: dict[str, ClusterError] = {}
        self._partitions: dict[str, frozenset[TopicPartition]] = {}
        self._wanted_at: dict[str, float] = {}
        self._watched: set[str] = set()

    def of(self, alias: str) -> tuple[ClusterError | None, Set[TopicPartition]]:
        """Return why a cluster was silent when it was last asked, None if it was not, and its silent partitions."""
        with self._lock:
            self._wanted_at[alias] = time.monotonic()
            return self._errors.get(alias), self._partitions.get(alias, frozenset())

    def note(self, alias: str, error: ClusterError | None, partitions: Collection[TopicPartition]) -> None:
        """Note that a cluster does not answer about *partitions*; *error* is why where it says nothing at all."""
        if error is None and not partitions:
            return
        with self._lock:
            was_silent, known = alias in self._errors, self._partitions.get(alias, frozenset())
            self._partitions[alias] = known | frozenset(partitions)
            if error is not None:
                self._errors[alias] = error
            is_first = alias not in self._watched
            self._watched.add(alias)
        if error is not None and not was_silent:
            logger.error("%s", error)
        elif error is None and not known:
            logger.warning("clusters.%s: no answer about %s", alias, named(partitions))
        if is_first:
            threading.Thread(target=self._watch, args=(alias,), name=f"silent {alias}", daemon=True).start()

    def _watch(self, alias: str) -> None:
        while self._is_watched(alias):
            time.sleep(self._retry_s)
            asked = self._partitions[alias]
            try:
                silent = frozenset(self._ask(alias, asked))
            except ClusterError as problem:
                with self._lock:
                    if alias in self._errors:
                        self._errors[alias] = problem
                continue
            except Exception:
                logger.exception("clusters.%s: could not be asked whether it answers again", alias)
                silent = frozenset()  # whoever asks next meets it
            with self._lock:
                has_returned = self._errors.pop(alias, None) is not None or silent < asked
                self._partitions[alias] = self._partitions[alias] - asked | silent
            if has_returned:
                logger.info("clusters.%s: answers again", alias)
                self._on_return()

    def _is_watched(self, alias: str) -> bool:
        """Return whether to go on asking; where nobody wants to know any more all is forgotten."""
        with self._lock:
            is_silent = alias in self._errors or bool(self._partitions.get(alias))
            if is_silent and time.monotonic() - self._wanted_at.get(alias, 0.0) < FORGOTTEN_S:
                return True
            self._errors.pop(alias, None)
            self._partitions.pop(alias, None)
            self._watched.discard(alias)
            return False


def named(partitions: Collection[TopicPartition]) -> str:
    """Return the first of *partitions* in words, and how many there are beside it."""
    first = min(partitions)
    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    return f"{first.topic}-{first.partition}{more}"
