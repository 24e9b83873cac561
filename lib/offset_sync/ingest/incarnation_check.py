"""Are the logs still those that were indexed? A topic made anew or a log that was cut has other records since.

Asked after a micro-batch was read and before it is written down, of its own logs and of those that its copies come
from. So whatever is indexed of a life was read after that life was known, and nobody's memory has to be trusted later:
what was noticed stands in ``log_incarnations``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Protocol

from offset_sync.ingest.incarnation_log import IncarnationLog, Life
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, Ends
from offset_sync.state.incarnations import epoch_ms
from offset_sync.tables.catalog import ARRIVED, READ_AGAIN, RECREATED, TRUNCATED
from offset_sync.tables.store import TableStore


class OvertakenError(ClusterError):
    """What a cluster said is older than what another query has noticed since: it has to be asked again."""


class EpochEnds(Protocol):
    """A cluster that is asked where leader epochs end, see :class:`offset_sync.kafka.leader_epochs.LeaderEpochs`."""

    def ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset after the records of each epoch; raise ClusterError where one is not answered."""


class IncarnationCheck:
    """Compares logs with what *tables* know; *epochs* are asked by alias. Queries that ask about the same share it.

    *late_ms* is how long a copy may be on its way. *reaches* says, by log, the first offset above all records of it
    that anybody has indexed, there or as copies. It reads a table, so it is called at most once, when a log's leader
    is another than it was. Logs of topics, or *of_commits*: two jobs look after them, by two clocks.
    """

    def __init__(
        self,
        tables: TableStore,
        epochs: Mapping[str, EpochEnds],
        reaches: Callable[[], Mapping[ClusterPartition, int]],
        late_ms: int = 0,
        of_commits: bool = False,
    ) -> None:
        self._log, self._epochs = IncarnationLog(tables, of_commits=of_commits), epochs
        self._reaches, self._late_ms, self._of_commits = reaches, late_ms, of_commits
        self._lock = threading.RLock()
        self._reach: dict[ClusterPartition, int] = {}
        self._is_read = False

    def moment(self) -> int:
        """Return a number to be taken before the clusters are asked: what was noticed since is newer than they say."""
        with self._lock:
            return self._log.moment

    def note(
        self,
        said: Mapping[str, ClusterMetadata | ClusterError],
        read_to: Mapping[ClusterPartition, int],
        moment: int,
    ) -> datetime:
        """Write down which of the logs that *said* tells of have other records than before, and from where on.

        Return the time that rows bear which were read before the clusters were asked, at *moment*: it lies after every
        life that is known by now and before any that will be. *read_to* is how far logs were indexed before. A cluster
        that does not answer is left out: its logs are taken for the same. Where nobody can tell from where on the
        records differ, it is the beginning of the log. Raises OvertakenError where somebody else has noticed more.
        """
        with self._lock:
            lives: list[Life] = []
            for cluster, metadata in said.items():
                if isinstance(metadata, ClusterMetadata):
                    self._refuse_overtaken(cluster, metadata, moment)
                    lives += self._lives(cluster, metadata, read_to)
            self._log.write(lives)
            return self._log.now()

    def _refuse_overtaken(self, cluster: str, metadata: ClusterMetadata, moment: int) -> None:
        for partition in metadata.ends:
            if self._log.noticed_since(ClusterPartition(cluster, *partition), moment):
                raise OvertakenError(cluster, f"{partition!r} has begun another life while it was asked about")

    def leader_epochs(self, alias: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the leader epochs of those *partitions* of a cluster that were ever asked about, as last heard."""
        with self._lock:
            found = {each: self._log.known(ClusterPartition(alias, *each)) for each in partitions}
            return {each: known.leader_epoch for each, known in found.items() if known is not None}

    def begin_after(self, at_ms: int) -> None:
        """Have lives begin after *at_ms*: rows were written then, by somebody whose clock may have been ahead."""
        with self._lock:
            self._log.begin_after(at_ms)

    def to_read_again(self, alias: str) -> dict[TopicPartition, int]:
        """Return from where on logs of a cluster have to be read again, because they have other records since."""
        with self._lock:
            return self._log.unread(alias)

    def note_arrived(self, alias: str, ends: Mapping[TopicPartition, Ends], asked_at: datetime) -> None:
        """Write down where logs of a cluster ended when no copy of an earlier life was on its way any more."""
        with self._lock:
            found = []
            for partition, each in ends.items():
                log, begun_ms = ClusterPartition(alias, *partition), self._log.begun_ms.get(partition)
                if begun_ms is None or self._log.arrived_ms.get(log, 0) > begun_ms:
                    continue
                if epoch_ms(asked_at) > begun_ms + self._late_ms:
                    known = self._log.known(log)
                    found.append(Life(log, known.topic_id if known else "", None, each.log_end, ARRIVED))
            self._log.write(found)

    def was_read_again(self, alias: str, partitions: Collection[TopicPartition]) -> None:
        """Write down that *partitions* of a cluster were read again, as :meth:`to_read_again` says."""
        with self._lock:
            logs = [ClusterPartition(alias, *each) for each in partitions]
            known = [(log, each) for log in logs if (each := self._log.known(log)) is not None]
            self._log.write([Life(log, each.topic_id, each.leader_epoch, None, READ_AGAIN) for log, each in known])

    def _lives(self, cluster: str, metadata: ClusterMetadata, read_to: Mapping[ClusterPartition, int]) -> list[Life]:
        found, asked = [], dict[ClusterPartition, Ends]()
        for partition, ends in metadata.ends.items():
            log, topic_id = ClusterPartition(cluster, *partition), metadata.topics[partition.topic].topic_id
            before = self._log.known(log)
            if before is not None and before.topic_id != topic_id:
                found.append(Life(log, topic_id, ends.leader_epoch, 0, RECREATED))
                self._reach[log] = ends.log_end
            # A log of commits that is shorter than an earlier version, which wrote down no lives, has read it was cut.
            elif before is None and not (self._of_commits and ends.log_end < read_to.get(log, 0)):
                found.append(Life(log, topic_id, ends.leader_epoch))
            else:
                is_same_leader = before is not None and before.leader_epoch == ends.leader_epoch
                if not is_same_leader or ends.log_end < self._reach_of(log, read_to):
                    asked[log] = ends
        found += self._elected(cluster, metadata, asked, read_to)
        for partition, ends in metadata.ends.items():
            log = ClusterPartition(cluster, *partition)
            self._reach[log] = max(ends.log_end, self._reach.get(log, 0))
        return found

    def _elected(
        self,
        cluster: str,
        metadata: ClusterMetadata,
        asked: Mapping[ClusterPartition, Ends],
        read_to: Mapping[ClusterPartition, int],
    ) -> list[Life]:
        """Return what logs are under another leader, or shorter than they were."""
        epochs = {log.topic_partition: epoch for log in asked if (epoch := self._epoch_of(log)) is not None}
        ends_of_epoch = self._epochs[cluster].ends(epochs) if epochs else {}
        found = []
        for log, ends in asked.items():
            topic_id, reach = metadata.topics[log.topic].topic_id, self._reach_of(log, read_to, is_exact=True)
            end = ends_of_epoch.get(log.topic_partition)
            is_cut = ends.log_end < reach if end is None else end < reach
            if is_cut:
                found.append(Life(log, topic_id, ends.leader_epoch, end or 0, TRUNCATED))
                self._reach[log] = ends.log_end
            elif self._epoch_of(log) != ends.leader_epoch:
                found.append(Life(log, topic_id, ends.leader_epoch))
        return found

    def _epoch_of(self, log: ClusterPartition) -> int | None:
        before = self._log.known(log)
        return before.leader_epoch if before is not None else None

    def _reach_of(
        self, log: ClusterPartition, read_to: Mapping[ClusterPartition, int], *, is_exact: bool = False
    ) -> int:
        if is_exact and not self._is_read:
            for each, reach in self._reaches().items():
                self._reach[each] = max(reach, self._reach.get(each, 0))
            self._is_read = True
        return max(self._reach.get(log, 0), read_to.get(log, 0))
