"""Groups as real clients make them: a member on the target, and offsets committed in transactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.broker_versions import PROTOCOLS
from broker.crafted_logs import Clusters
from broker.group_member import member, transaction
from broker.installation import install
from broker.story import SHIFT, Story

pytestmark = [pytest.mark.versions, pytest.mark.timeout(600)]
GROUPS = ACTIVE, COMMITTED, ABORTED, ABORTED_AFTER, OPEN = ["active", "committed", "aborted", "aborted-after", "open"]


def test_a_member_on_the_target_delays_its_group_and_an_offset_in_a_transaction_counts_once_it_is_committed(
    clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    story, source = Story(clusters, "live").begin(), clusters["dc1"]
    story.write(20)
    installation = install(tmp_path, clusters, [story.topic])
    assert installation.index() == []

    def after_sync() -> list[int | None]:
        assert installation.sync() == []
        return [story.offset(group) for group in GROUPS]

    for group in (ACTIVE, ABORTED_AFTER):
        story.commit(group, 4)
    with transaction(source, COMMITTED, story.place, 7) as producer:
        producer.commit_transaction(120)
    for group in (ABORTED, ABORTED_AFTER):
        with transaction(source, group, story.place, 9) as producer:
            producer.abort_transaction(120)
    with member(clusters["dc2"], ACTIVE, story.topic, PROTOCOLS[-1]):
        assert after_sync() == [None, 7, None, 4, None]
    with transaction(source, OPEN, story.place, 6) as producer:
        assert after_sync() == [4, 7, None, 4, None], "it holds up nothing but itself"
        producer.commit_transaction(120)
    assert after_sync() == [4, 7, None, 4, 6]
    told = installation.translations(group_id=ACTIVE)
    assert [row["outcome"] for row in told] == ["TARGET_ACTIVE", "COMMITTED"]
    rows = installation.rows("offset_commits", topic=story.topic)
    captured = {(row["group_id"], row["committed_offset"]) for row in rows if row["group_id"].startswith(ABORTED)}
    assert captured == {(ABORTED_AFTER, 4), (ABORTED_AFTER, 4 + SHIFT)}
