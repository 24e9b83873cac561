"""A cluster whose log of commits cannot be read at the start may hold a newer commit than all that is known."""

from __future__ import annotations

import pytest

from fakes.reconciler_site import Site, mirrored_site


def started(site: Site, unread: str) -> Site:
    """Begin a driver that knows nothing, and reads every log but the one that is *unread*."""
    site.restart()
    return begun(site, unread)


def begun(site: Site, unread: str) -> Site:
    site.state.unread.begin(site.clusters)
    for alias in site.clusters:
        if alias != unread:
            site.read(alias)
            site.state.unread.note_read([alias])
    site.reconciler.reconcile_all(is_first=True)
    return site


def has_come(site: Site, alias: str) -> None:
    """Read the log of *alias* to its end, and make the regular pass."""
    site.read(alias)
    site.state.unread.note_read([alias])
    site.reconciler.reconcile_all()


@pytest.fixture
def site() -> Site:
    """X produces what Y and Z have two offsets higher."""
    return mirrored_site("Y", "Z")


def held(site: Site, alias: str) -> int | None:
    return site.target_offset(alias, "g")


def test_a_commit_made_before_our_eyes_counts_so_a_failover_goes_on(site: Site) -> None:
    site.commit("Y", "g", 9)
    started(site, unread="X")
    site.clusters["X"].is_down = True
    site.commit("Y", "g", 10)
    site.reconciler.reconcile_batch("Y", site.read("Y"), 1)
    assert held(site, "Z") == 10


def test_a_commit_on_the_way_to_the_end_of_a_log_does_not_count(site: Site) -> None:
    site.commit("X", "g", 3)
    site.read_all()
    site.commit("X", "g", 8)
    site.commit("X", "g", 4)
    begun(site, unread="X")
    assert held(site, "Y") == 5
    site.reconciler.reconcile_batch("X", site.read("X", at_most=2), 1)
    assert held(site, "Y") == 5
    has_come(site, "X")
    assert held(site, "Y") == 6
