"""How far the running jobs have got, from their checkpoints; whoever asks need not be the process that runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.errors import ClusterError
from offset_sync.model import TopicPartition
from offset_sync.spark.checkpoints import Checkpoint
from offset_sync.spark.sources import CONSUMER_OFFSETS
from offset_sync.streams import StreamLag, Streams

LogEndsOf = Callable[[str], "Mapping[TopicPartition, int] | ClusterError | None"]
"""The log ends of a cluster's ``__consumer_offsets``; None: it has none yet."""


class JobProgress:
    """Asks the checkpoints of sync_offsets and index_records; *log_ends_of* asks a cluster."""

    def __init__(self, spark: SparkSession, config: Config, log_ends_of: LogEndsOf) -> None:
        self._log_ends_of = log_ends_of
        root = config.tables.checkpoints
        self._sync = {alias: Checkpoint(spark, f"{root}/sync_offsets/{alias}") for alias in config.clusters}
        self._index = {alias: Checkpoint(spark, f"{root}/index_records/{alias}") for alias in config.clusters}

    def streams(self, now_ms: int) -> Streams:
        """Return how far the jobs have read; a query that has never finished a batch has read nothing."""
        commits: dict[str, StreamLag] = {}
        for alias, checkpoint in self._sync.items():
            ends = self._log_ends_of(alias)
            if ends is not None and not isinstance(ends, ClusterError):
                commits[alias] = _lag(checkpoint, ends, now_ms)
        silent = {alias: _silent_ms(checkpoint, now_ms) for alias, checkpoint in self._index.items()}
        return Streams(commits, silent)


def _lag(checkpoint: Checkpoint, ends: Mapping[TopicPartition, int], now_ms: int) -> StreamLag:
    last = checkpoint.last_committed()
    done = checkpoint.end_offsets(last[0]) if last is not None else {}
    unread = {
        place.partition: max(0, end - done.get((CONSUMER_OFFSETS, place.partition), 0)) for place, end in ends.items()
    }
    return StreamLag(unread, _silent_ms(checkpoint, now_ms) if any(unread.values()) else 0)


def _silent_ms(checkpoint: Checkpoint, now_ms: int) -> int:
    last = checkpoint.last_committed()
    return max(0, now_ms - last[1]) if last is not None else 0
