"""One home per group and topic: what is brought where, also while two clusters are active; our commits make none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakes.reconciler_site import ORDERS, Site, SiteWriter, mirrored_site
from offset_sync.model.values import OffsetWrite, TopicPartition, WriteOutcome

MINUTE_MS = 60_000


@pytest.fixture
def site() -> Site:
    """X produces ten records that Y and Z have two offsets higher; a cluster is silent after five minutes."""
    return mirrored_site("Y", "Z", sync={"home_silence": "5m", "refresh_interval": "1d"})


def held(site: Site, place: TopicPartition = ORDERS) -> list[int | None]:
    """Return what is committed at X, Y and Z."""
    return [site.target_offset(alias, "g", place) for alias in "XYZ"]


def told(site: Site) -> dict[tuple[str, str], tuple[str, str]]:
    """Return state and outcome of the group by source and target, of the last pass."""
    site.reconciliations.clear()
    site.reconcile()
    rows = [row for number in range(len(site.reconciliations)) for row in site.rows(number)]
    return {(row.source, row.target): (row.state, row.outcome) for row in rows}


DAY_MS = 24 * 60 * MINUTE_MS


def refreshed(site: Site) -> list[str]:
    """Pass the interval at which offsets are refreshed; return where that was done."""
    site.pass_time(DAY_MS + 1)
    site.asked.clear()
    for _ in range(2):
        site.reconcile()
    assert all(write.refresh for _, write in site.asked)
    return sorted(target for target, _ in site.asked)


def test_what_was_deleted_together_with_its_topic_stays_at_the_targets_and_is_refreshed(site: Site) -> None:
    site.commit("X", "g", 5)
    site.reconciled()
    del site.clusters["X"].topics["orders"]
    site.clusters["X"].forget("g", ORDERS)
    assert set(told(site).values()) == {("TOPIC_MISSING", "WITHHELD")}
    assert held(site) == [None, 7, 7]
    for _ in range(2):
        assert refreshed(site) == ["Y", "Z"]
    site.clusters["X"].is_down = True
    assert refreshed(site) == ["Y", "Z"], "the source that said so is gone by now"
    assert held(site) == [None, 7, 7]


def test_a_writer_that_raises_leaves_at_most_one_write_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()

    def fails(_writer: SiteWriter, _writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        raise RuntimeError("the Spark job of the writes failed")

    site.commit("X", "g", 3)
    with monkeypatch.context() as patched:
        patched.setattr(SiteWriter, "write", fails)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="Spark job"):
                site.reconcile()
    site.reconcile()
    site.read_all()
    site.commit("Y", "g", 5)
    site.reconcile()
    assert [row.source for row in site.rows()] == ["Y"]
