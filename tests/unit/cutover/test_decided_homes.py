"""Naming the source of a move decides where two clusters are in question, and lets a move be repeated."""

from __future__ import annotations

from builders.logs import log
from fakes.reconciler_site import Site, config_of
from offset_sync.cutover.homes import DecidedHomes
from offset_sync.cutover.plan import Direction
from offset_sync.state.group_homes import Move


def two_clusters() -> Site:
    site = Site(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    for alias in "XY":
        site.put(log(alias, "X0:10"))
    return site


def twins() -> Site:
    """A group that commits 5 at X and, a second later, 3 at Y."""
    site = two_clusters()
    site.commit("X", "g", 5)
    site.pass_time(1_000)
    site.commit("Y", "g", 3)
    site.read_all()
    return site


def home(site: Site) -> tuple[str, bool]:
    found = site.state.homes_of(site.state.all_rows())
    return list(site.clusters)[int(found.home[0])], bool(found.is_contested[0])


def decided(site: Site, source: str, target: str) -> DecidedHomes:
    found = DecidedHomes(site.state, Direction(source, target))
    found.decide(site.state.all_rows())
    return found


def test_either_of_two_clusters_that_commit_may_be_named() -> None:
    for source, target in (("X", "Y"), ("Y", "X")):
        site = twins()
        assert home(site)[1]
        found = decided(site, source, target)
        assert home(site) == (source, False)
        assert ("g", "orders") in found.contested
        assert found.contested["g", "orders"].startswith("committed at both Y (3, ")


def test_a_group_that_was_moved_and_has_not_committed_since_may_be_moved_and_verified_again() -> None:
    site = two_clusters()
    site.commit("X", "g", 5)
    site.read_all()
    site.pass_time(1_000)
    site.state.homes.note_moves([Move("g", "orders", "Y", site.clock_ms[0])])
    assert home(site) == ("Y", False)
    site.pass_time(1)
    assert decided(site, "X", "Y").contested == {}
    assert home(site) == ("X", False)


def test_a_group_that_was_moved_from_a_third_cluster_is_not_decided() -> None:
    site = Site(config_of(["X", "Y", "Z"], sync={"home_silence": "5m"}))
    for alias in "XYZ":
        site.put(log(alias, "X0:10"))
    site.commit("X", "g", 5)
    site.pass_time(600_000)
    site.commit("Z", "g", 7)
    site.read_all()
    site.pass_time(1_000)
    site.state.homes.note_moves([Move("g", "orders", "Y", site.clock_ms[0])])
    decided(site, "X", "Y")
    assert home(site) == ("Y", False)
    decided(site, "Z", "Y")
    assert home(site) == ("Z", False)


def test_what_the_move_itself_has_committed_is_no_word_of_the_group() -> None:
    site = two_clusters()
    site.commit("X", "g", 5)
    site.pass_time(1_000)
    site.commit("Y", "g", 5)
    site.read_all()
    site.state.homes.note_moves([Move("g", "orders", "Y", site.clock_ms[0] + 50)])
    site.pass_time(1_000)
    decided(site, "X", "Y")
    assert home(site) == ("X", False)


def test_a_group_that_goes_on_at_the_target_is_at_home_there() -> None:
    site = two_clusters()
    site.commit("X", "g", 5)
    site.read_all()
    site.pass_time(1_000)
    site.state.homes.note_moves([Move("g", "orders", "Y", site.clock_ms[0])])
    site.pass_time(10_000)
    site.commit("Y", "g", 7)
    site.read_all()
    decided(site, "X", "Y")
    assert home(site) == ("Y", False)


def test_a_home_at_the_source_is_left_as_it_is() -> None:
    site = two_clusters()
    site.commit("X", "g", 5)
    site.read_all()
    assert decided(site, "X", "Y").contested == {}
    assert home(site) == ("X", False)
