"""The real MirrorMaker 2 with six flows between three clusters, as the recipe has it; all produce into one topic."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from broker.crafted_logs import Clusters
from broker.mirrored_site import MirroredSite, mirrored_site
from offset_sync_demo.load.producer import TopicLoad

pytestmark = [pytest.mark.broker, pytest.mark.in_order, pytest.mark.timeout(1200)]

ALIASES = ("dc1", "dc2", "dc3")
EQUALLY = dict.fromkeys(ALIASES, 1 / 3)


@pytest.fixture(scope="module")
def site(
    three_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MirroredSite]:
    loads = [TopicLoad("shop", 2, 90.0)]
    with mirrored_site(three_clusters, loads, tmp_path_factory.mktemp("mesh")) as site:
        yield site


def test_each_record_comes_to_each_cluster_once_and_none_goes_in_circles(site: MirroredSite) -> None:
    site.producers.set_share(EQUALLY)
    site.wait_for_copies()
    site.come_to_rest()
    assert (site.lost(), set(site.twice().values())) == (0, {0})
    before = site.ends()
    time.sleep(10)
    assert site.ends() == before


def test_between_each_pair_every_offset_is_the_one_that_the_values_demand(site: MirroredSite) -> None:
    site.commit()
    site.sync()
    assert site.inexact() == []


def test_killed_under_load_nothing_is_lost_and_offsets_are_exact(site: MirroredSite) -> None:
    site.producers.set_share(EQUALLY)
    site.wait_for_copies()
    site.mirror.kill()
    site.mirror.start()
    site.wait_for_copies()
    site.come_to_rest()
    assert site.lost() == 0
    assert sum(site.twice().values()) > 0
    site.commit()
    site.sync()
    assert site.inexact() == []
