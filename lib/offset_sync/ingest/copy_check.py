"""Are copies, byte for byte, still copies? One that was written to has records that its original does not have.

A copy is behind its original, for it has every record from there. So where a copy has said how far it reaches before
the original was asked, it reaches no further. What does was written to by somebody else, and stays so when the original
has grown beyond: from there on the same offsets mean other records, for good. So it is written down.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from offset_sync.ingest.ends_of_epochs import Said
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, Ends

Reach = Mapping[ClusterPartition, int]
"""Where the logs of copies ended."""


class CopyCheck:
    """Shared by the queries of all clusters; *original* says which cluster has a topic of which others are copies.

    An original that does not answer is asked again with the next micro-batch, of its own or of a copy. What it has
    written until then is not told from what it had: it errs to believing, and the times of the records are to tell.
    """

    def __init__(self, original: Callable[[str], str | None], incarnations: IncarnationCheck) -> None:
        self._original, self._incarnations = original, incarnations
        self._reach: dict[ClusterPartition, int] = {}
        self._lock = threading.Lock()

    def known(self) -> Reach:
        """Return how far copies reach; to be taken before any cluster is asked."""
        with self._lock:
            return dict(self._reach)

    def originals(self, alias: str, logs: Collection[TopicPartition]) -> dict[str, set[TopicPartition]]:
        """Return, by cluster, what has to be asked about for *logs* of *alias*, whatever was read of them."""
        found: dict[str, set[TopicPartition]] = {}
        for each in logs:
            if (original := self._original(each.topic)) not in (None, alias):
                found.setdefault(str(original), set()).add(each)
        return found

    def look(self, alias: str, own: Mapping[TopicPartition, Ends], said: Said, known: Reach) -> None:
        """Compare where copies end with what originals have *said* since: those of *alias* by its *own* ends.

        It was asked before all others, and what was *known* of other copies is older. What is found stands in the table
        when this returns, before the rows of what was read.
        """
        copies = [each for logs in self.originals(alias, own).values() for each in logs]
        reach = {ClusterPartition(alias, *each): own[each].log_end for each in copies}
        self._incarnations.note_copied(list(reach))
        with self._lock:  # one that was cut meanwhile, as its original may have been before, has other records since
            known = {log: end for log, end in known.items() if end <= self._reach.get(log, end)}
        if beyond := self._beyond({**known, **reach}, said):
            self._incarnations.note_written(beyond)
        with self._lock:
            self._reach |= reach

    def _beyond(self, reach: Reach, said: Said) -> dict[ClusterPartition, int]:
        found: dict[ClusterPartition, int] = {}
        for log, end in reach.items():
            answer = said.get(self._original(log.topic) or "")
            if isinstance(answer, ClusterMetadata) and log.topic_partition in answer.ends:
                log_end = answer.ends[log.topic_partition].log_end
                if end > log_end:
                    found[log] = log_end
        return found
