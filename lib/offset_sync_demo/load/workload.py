"""The producers of all clusters: a steady rate that can be moved between clusters while they run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from offset_sync_demo.kafka.clients import Endpoint, Partition
from offset_sync_demo.load.producer import ProducingThread, TopicLoad, TransactionThread
from offset_sync_demo.load.records import RecordLog, Records

Shares = Mapping[str, float]
"""The share of a topic's rate by cluster; clusters that are not named produce nothing."""


class Producers:
    """Produces *loads* at *clusters*: one thread per cluster, and one more per cluster and transactional topic."""

    def __init__(
        self, clusters: Mapping[str, Endpoint], loads: Sequence[TopicLoad], shares: Mapping[str, Shares]
    ) -> None:
        """*shares* by topic; the rate of a topic that is not named is shared equally."""
        equal = dict.fromkeys(clusters, 1.0 / len(clusters))
        self._shares: dict[str, Shares] = {load.topic: dict(shares.get(load.topic, equal)) for load in loads}
        self._threads = {alias: list(self._threads_at(alias, cluster, loads)) for alias, cluster in clusters.items()}

    def start(self) -> None:
        """Start producing everywhere."""
        for thread in self._all_threads():
            thread.start()

    def set_share(self, shares: Shares, topics: Iterable[str] | None = None) -> None:
        """Move the production of *topics* (all by default), effective within a fraction of a second."""
        for topic in self._shares if topics is None else topics:
            self._shares[topic] = dict(shares)

    def wait_until_quiet(self, alias: str, timeout: float = 30.0) -> None:
        """Return when the cluster has no share left and no record is in flight to it; raises TimeoutError."""
        deadline = time.monotonic() + timeout
        while not all(thread.is_quiet for thread in self._threads[alias]):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{alias}: producers still have records in flight; last errors {self.errors()}")
            time.sleep(0.05)

    def stop(self, timeout: float = 10.0) -> None:
        """Stop everywhere; waits at most *timeout* seconds for acknowledgements, also if a broker is dead."""
        for thread in self._all_threads():
            thread.ask_to_stop(timeout)
        for thread in self._all_threads():
            thread.join()

    def acknowledged(self, alias: str) -> dict[Partition, Records]:
        """Return the records produced at this cluster that it has acknowledged, with their offsets."""
        return _gathered(thread.acknowledged.items() for thread in self._threads[alias])

    def aborted(self, alias: str) -> dict[Partition, Records]:
        """Return the records of aborted transactions at this cluster, which no consumer may ever read."""
        return _gathered(thread.aborted.items() for thread in self._threads[alias])

    def count(self) -> int:
        """Return how many records were acknowledged so far, at all clusters."""
        return sum(map(self.count_at, self._threads))

    def count_at(self, alias: str) -> int:
        """Return how many records a cluster has acknowledged so far."""
        return sum(len(log) for thread in self._threads[alias] for log in list(thread.acknowledged.values()))

    def errors(self) -> dict[str, str]:
        """Return the last error of each cluster that had one."""
        return {alias: each.last_error for alias, all_ in self._threads.items() for each in all_ if each.last_error}

    def _threads_at(self, alias: str, cluster: Endpoint, loads: Sequence[TopicLoad]) -> Iterable[ProducingThread]:
        def share_of(topic: str) -> float:
            return self._shares[topic].get(alias, 0.0)

        plain = [load for load in loads if not load.is_transactional]
        if plain:
            yield ProducingThread(cluster, plain, share_of)
        for load in loads:
            if load.is_transactional:
                yield TransactionThread(cluster, load, share_of)

    def _all_threads(self) -> list[ProducingThread]:
        return [thread for threads in self._threads.values() for thread in threads]


def _gathered(logs: Iterable[Iterable[tuple[Partition, RecordLog]]]) -> dict[Partition, Records]:
    """Return the records of all threads; no two of them produce into the same topic."""
    return {place: log.to_records() for items in logs for place, log in list(items)}
