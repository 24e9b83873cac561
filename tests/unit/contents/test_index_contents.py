"""Which logs ``index_records`` aligns where contents tell what a copy is."""

from __future__ import annotations

from fakes.newest_logs import known_config
from offset_sync.contents.index_contents import origin_of
from offset_sync.model.values import ClusterPartition


def test_logs_that_nobody_reads_any_more_have_no_originals() -> None:
    """A cluster that was taken out of the file, or a topic: the tables have them for long."""
    topics = {"include": [".*"], "overrides": [{"topics": ["old"], "strategy": "off"}]}
    mirror = {"identity": "fingerprint", "flows": [["dc1", "dc2"]], "exclusive": True}
    config = known_config(("dc1", "dc2"), mirror=mirror, topics=topics)
    read = [ClusterPartition(alias, topic, 0) for alias in ("dc1", "dc2", "dc3") for topic in ("orders", "old")]
    found = {each[:2]: origin_of(config, each) for each in read}
    assert found.pop(("dc1", "orders")) == found.pop(("dc2", "orders")) == "dc1"
    assert set(found.values()) == {None}
