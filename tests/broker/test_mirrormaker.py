"""The real MirrorMaker 2 with the transform of connect/, both ways, under load, killed, and exactly once.

Both clusters produce into the same topics. Nothing goes in circles, nothing is lost whatever becomes of MirrorMaker,
and offsets are those that the records' values demand.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.crafted_logs import Clusters
from broker.mirrored_site import MirroredSite, mirrored_site
from offset_sync_demo.kafka.clients import Headers
from offset_sync_demo.load.producer import TopicLoad

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(900)]
ALIASES = ("dc1", "dc2")
SHOP, LEDGER = "shop", "ledger"
SHARES = {SHOP: dict.fromkeys(ALIASES, 0.5), LEDGER: {"dc1": 1.0}}
LOADS = [TopicLoad(SHOP, 2, 100.0), TopicLoad(LEDGER, 1, 30.0, is_transactional=True)]
LATE_TO_FLUSH = {f"{alias}.offset.flush.interval.ms": "60000" for alias in ALIASES}
"""As by default: what is copied in a minute is copied again after a crash."""
EXACTLY_ONCE = {
    **{f"{alias}.exactly.once.source.support": "enabled" for alias in ALIASES},
    # So long a new worker waits for the transaction of one that was killed; a minute by default.
    **{f"{alias}.producer.transaction.timeout.ms": "10000" for alias in ALIASES},
}
LEAKED: Headers = [("IDC", b"dc2"), ("Offset", b"5"), ("Place", b"other-0")]


@pytest.fixture(scope="module")
def site(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MirroredSite]:
    folder = tmp_path_factory.mktemp("mirrormaker")
    with mirrored_site(soiled_clusters, LOADS, folder, LATE_TO_FLUSH) as site:
        yield site


def produce(site: MirroredSite) -> None:
    for topic, share in SHARES.items():
        site.producers.set_share(share, [topic])


def assert_exact(site: MirroredSite) -> None:
    compared = site.compared()
    assert (len(compared), [each for each in compared if each[1] != each[2]]) == (18, [])


def test_each_record_is_once_at_each_side_whatever_headers_it_has_and_offsets_are_exact(site: MirroredSite) -> None:
    produce(site)
    site.wait_for_copies()
    site.come_to_rest()
    site.commit()
    place = (SHOP, 0)
    leaked_at = site.ends()["dc1"][place]
    # A group that has read all of dc2 so far, and so its offset 5, has not read this record.
    leaked = site.produce_leaked("dc1", place, 1_000_000, LEAKED)
    site.come_to_rest()
    assert site.logs()["dc2", place].ids.count(leaked) == 1
    before = site.ends()
    site.sync()
    assert site.held("dc1")["tail-dc2"][place] == leaked_at
    assert_exact(site)
    # What is copied back would be there by now.
    assert (site.ends(), site.lost(), {*site.twice().values()}) == (before, 0, {0})


def test_killed_under_load_it_sends_again_and_nothing_is_lost_or_ahead_and_then_all_is_exact(
    site: MirroredSite,
) -> None:
    produce(site)
    site.wait_for_copies()
    site.commit()
    site.mirror.kill()
    site.mirror.start(EXACTLY_ONCE)  # from now on; what the one before has not written down comes again
    for _ in range(3):
        site.sync()
        assert [each for each in site.compared() if each[1] > each[2]] == []
        site.commit()
    site.wait_for_copies()
    site.come_to_rest()
    assert site.lost() == 0
    assert {place for (_, place), count in site.twice().items() if count} == set(site.places)
    site.commit()
    site.sync()
    assert_exact(site)
    site.mirror.stop()
    site.producers.stop(2.0)
