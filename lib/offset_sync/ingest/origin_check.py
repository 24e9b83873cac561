"""Are the identities that the mirror's headers claim possible? A record cannot be a copy of one that is not written.

One header that names an offset far beyond its origin's log would make everything below it that is missing here look
dropped by the mirror, and so read. Asked *after* the records were read, the origin's log end is above every honest
identity, for logs only grow. What is beyond it is no copy: its records are unread by everyone, and in quarantine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.ingest.kept_runs import KeptRuns
from offset_sync.ingest.refuted_runs import IDENTITY, refute_beyond
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import greatest_of_each


class OriginCheck:
    """Checks what was mirrored to *alias* against the logs of the other clusters in *aliases*.

    An origin that is no cluster of ours, does not answer or has no such partition any more cannot be asked: its
    identities are believed. So are those of topics that *are_copied* byte for byte: they are asked about, and one that
    was written to is withheld as a whole (``copy_check.py``).
    """

    def __init__(
        self, alias: str, aliases: Collection[str], are_copied: Callable[[str], object] = lambda _topic: None
    ) -> None:
        self._asked, self._are_copied = {each for each in aliases if each != alias}, are_copied
        self._last: tuple[pa.Table, dict[tuple[str, str, int], int]] | None = None

    def origins(self, cut: pa.Table, kept: Iterable[KeptRuns] = ()) -> dict[str, set[TopicPartition]]:
        """Return the partitions to ask about, by cluster, for rows of :data:`CUT_SCHEMA` and those that are *kept*."""
        found: dict[str, set[TopicPartition]] = {}
        for origin, topic, partition in chain(self._reach(cut), *map(self._reach_of_kept, kept)):
            found.setdefault(origin, set()).add(TopicPartition(topic, partition))
        return found

    def refute(self, cut: pa.Table, said: Mapping[str, ClusterMetadata | ClusterError]) -> pa.Table:
        """Return the rows with the stretches of runs made malformed that are no copies, by what the clusters *said*."""
        ends, self._last = self._ends(self._reach(cut), said), None  # the rows are not kept
        return refute_beyond(cut, ends)

    def refute_kept(self, kept: KeptRuns, said: Mapping[str, ClusterMetadata | ClusterError]) -> KeptRuns:
        """Return the same of runs that are *kept*: the tasks that write them do it."""
        return kept._replace(beyond=self._ends(self._reach_of_kept(kept), said))

    def _reach_of_kept(self, kept: KeptRuns) -> dict[tuple[str, str, int], int]:
        asked = pa.array(sorted(self._asked), pa.string())
        rows = kept.summary.filter(pc.is_in(kept.summary.column("origin"), asked)).to_pylist()
        return {(row["origin"], row["topic"], row["partition"]): row["reach"] for row in rows}

    def _reach(self, cut: pa.Table) -> dict[tuple[str, str, int], int]:
        """Return, by origin and partition, the first offset above all identities that can be asked about.

        Tables do not change, so the same one, which is asked about before and after its origins, is gone through once.
        """
        if self._last is None or self._last[0] is not cut:
            self._last = cut, self._reach_of(cut)
        return self._last[1]

    def _reach_of(self, cut: pa.Table) -> dict[tuple[str, str, int], int]:
        ends = int64s(cut.column("origin_start")) + int64s(cut.column("length"))
        reach = greatest_of_each([cut.column(name) for name in IDENTITY], ends)
        return {(origin, topic, number): end for (origin, topic, number), end in reach.items() if origin in self._asked}

    def _ends(
        self, reach: Mapping[tuple[str, str, int], int], said: Mapping[str, ClusterMetadata | ClusterError]
    ) -> dict[tuple[str, str, int], int]:
        """Return the log ends that some identity is beyond."""
        found: dict[tuple[str, str, int], int] = {}
        for (origin, topic, number), highest in reach.items():
            answer, partition = said.get(origin), TopicPartition(topic, number)
            if isinstance(answer, ClusterMetadata) and partition in answer.ends and not self._are_copied(topic):
                log_end = answer.ends[partition].log_end
                if highest > log_end:
                    found[origin, *partition] = log_end
        return found
