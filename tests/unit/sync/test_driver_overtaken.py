"""An offset at a target with our tag that this driver does not expect: another driver knew more."""

from __future__ import annotations

from fakes.reconciler_site import Site, mirrored_site


def another_driver(site: Site) -> Site:
    """Return a driver beside *site*, of the same clusters."""
    other = Site(site.config, site.clock_ms, site.index)
    other.clusters = site.clusters
    other.restart()
    return other


def test_a_stale_driver_leaves_alone_what_a_newer_one_has_set_back() -> None:
    stale = mirrored_site()
    stale.commit("X", "g", 8)
    stale.reconciled()
    assert stale.target_offset("Y", "g") == 10
    stale.commit("X", "g", 3)  # a reset, which only the newer driver has seen
    newer = another_driver(stale)
    newer.reconcile()
    assert newer.target_offset("Y", "g") == 5
    stale.reconciler.reconcile_all(is_first=True)
    assert [row.outcome for row in stale.rows()] == ["NOT_FORWARD"]
    assert "another client has committed since" in str(stale.rows()[0].error)
    assert newer.target_offset("Y", "g") == 5
    stale.reconcile()  # when it has read what happened it agrees
    assert newer.target_offset("Y", "g") == 5
    assert [row.outcome for row in stale.rows()] == ["UNCHANGED"]


def test_a_new_driver_goes_on_from_what_the_one_before_wrote_last_and_never_read_back() -> None:
    old = mirrored_site()
    old.commit("X", "g", 4)
    old.reconcile()
    assert old.target_offset("Y", "g") == 6
    new = another_driver(old)  # the old one died before it read its own commit
    new.commit("X", "g", 7)
    new.reconcile(is_first=True)
    assert new.target_offset("Y", "g") == 9
    assert new.rows()[0].previous == 6


def test_what_the_log_brings_in_a_moment_is_waited_for() -> None:
    site = mirrored_site()
    site.commit("X", "g", 4)
    site.reconcile()
    other = another_driver(site)
    other.commit("X", "g", 5)
    other.reconcile()
    site.commit("X", "g", 8)
    site.read("X")  # and not yet what the other wrote at Y
    site.reconciler.reconcile_all()
    assert site.target_offset("Y", "g") == 7
    site.reconcile()
    assert site.target_offset("Y", "g") == 10
