"""``__consumer_offsets`` is cut: noticed, and what is to be read again; worlds that shrink have what becomes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.tables import MemoryTables
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

LOG = TopicPartition(CONSUMER_OFFSETS, 3)


class Site:
    """Micro-batches of a log of X that end at 3 and at 5; the log ends at *log_end*, and was *cut_at* an offset."""

    log_end, cut_at, is_silent = 5, 5, False

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {LOG: 3 * batch_id}

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {LOG: (3, 5)[batch_id]}

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, Any]:
        ends = {each: MemoryEnds(0, self.log_end, int(self.cut_at < 5)) for each in wanted["X"] if not self.is_silent}
        return {"X": ClusterMetadata({CONSUMER_OFFSETS: MemoryTopic("id", 8)}, ends)}

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        return dict.fromkeys(epochs, ReportedEnd(self.cut_at))

    def reaches(self) -> dict[ClusterPartition, int]:
        return {ClusterPartition("X", *LOG): 3}


def test_one_that_was_cut_is_read_again_from_there_as_far_as_it_goes_and_no_write_of_ours_is_certain() -> None:
    site: Any = Site()
    tables: Any = MemoryTables()
    check = CommitLogCheck("X", site, site, IncarnationCheck(tables, {"X": site}, site.reaches, of_commits=True))
    assert check.look(0).again == {}
    assert check.look(0).is_certain
    site.log_end, site.cut_at, site.is_silent = 4, 2, True
    with pytest.raises(ClusterError, match="no answer about __consumer_offsets-3, which was read"):
        check.look(1)
    site.is_silent = False
    looked = check.look(1)
    assert (looked.again, looked.is_certain) == ({LOG: (2, 4)}, False)
