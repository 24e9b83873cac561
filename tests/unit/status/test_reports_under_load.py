"""Producers and mirrors do not stop for a report: it holds for the moment at which the ends were asked for."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from fakes.reconciler_site import ORDERS
from fakes.status_site import StatusSite, moved, site_of_logs
from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from offset_sync.model.reasons import Reason
from oracles.status import identity
from oracles.translation import Case, Log

LATE = ("Mirroring", Reason.NOT_MIRRORED(2))


def growing(here: str, there: str, committed: int, later_here: str, later_there: str) -> StatusSite:
    """A move at rest; after the ends are asked for, the index reads what has come since."""
    site = moved(here, there, committed)

    def meanwhile() -> None:
        for where in (log("X", later_here), log("Y", later_there)):
            site.index.extend(where, ORDERS)
            site.records[where.cluster, ORDERS] = where

    site.meanwhile = meanwhile
    return site


def test_what_was_there_and_is_not_mirrored_is_waited_for() -> None:
    site = growing("X0:12", "X0:10", 4, "X0:14", "X0:10")
    row = site.row()
    assert (row["status"], row["reason"]) == LATE
    assert (row["not_mirrored"], row["lost"], row["mirror_lag"]) == (2, 2, 2)


@law(60)
@given(st.integers(0, 2**32))
def test_in_sync_stays_true_whatever_comes_later(seed: int) -> None:
    rng = random.Random(seed)
    for case in random_cases(random_world(rng, steps=rng.choice((3, 10, 30))), rng):
        if case.source is None:
            continue
        site, positions = site_of(case, rng)
        for row in site.report(case.now_ms):
            if row["target_cluster"] == case.target.cluster and row["status"] == "InSync":
                frontier = site.index.logs[case.target.cluster, "orders", 0].frontier
                holds_at_the_end(case, *positions[int(row["group_id"])], frontier)


def site_of(case: Case, rng: random.Random) -> tuple[StatusSite, dict[int, tuple[int, int]]]:
    """Both logs as they were once; groups are at offsets set by the sync or by other clients."""
    assert case.source is not None
    here = cut(case.source, rng, 0)
    # Records that a mirror has taken from the target are there.
    taken = [record.origin_offset for record in here.records if record.origin == case.target.cluster]
    once = [here, cut(case.target, rng, max(taken, default=-1) + 1)]
    site = site_of_logs(case, *once)

    def meanwhile() -> None:
        for where, then in zip((case.source, case.target), once, strict=True):
            assert where is not None
            site.index.extend(replace(where, frontier=rng.randint(then.frontier, where.log_end)), ORDERS)
            site.records[where.cluster, ORDERS] = where

    site.meanwhile = meanwhile
    ends = [where.log_end for where in once]
    positions = {number: (rng.randint(0, ends[0]), rng.randint(0, ends[1])) for number in range(40)}
    for number, (committed, position) in positions.items():
        site.commit(case.source_cluster, str(number), committed)
        site.write_as_we_do(case.target.cluster, str(number), position)
    return site, positions


def cut(where: Log, rng: random.Random, least: int) -> Log:
    """*where* as it was when it ended earlier, at *least* there, and as the index had read it by then."""
    end = rng.choice((where.log_end, rng.randint(min(max(where.log_start, least), where.log_end), where.log_end)))
    records = tuple(record for record in where.records if record.offset < end)
    return replace(where, records=records, log_end=end, frontier=rng.choice((end, min(end, where.frontier))))


def holds_at_the_end(case: Case, committed: int, position: int, frontier: int) -> None:
    """At the target nothing is left out and nothing comes twice, of all that is there in the end and what may come.

    An origin of which the index has met nothing at the target is taken for one that is not mirrored there.
    """
    source, target = case.source, case.target
    assert source is not None
    mirrored = {record.origin for record in target.records if record.offset < frontier} | {source.cluster}
    read = {identity(r) for r in source.records if r.offset < committed and r.origin in mirrored}
    left = {identity(record) for record in source.records if record.offset >= committed}
    below = {identity(record) for record in target.records if record.offset < position}
    ahead = {identity(record) for record in target.records if record.offset >= position}
    assert not read & ahead, (case, committed, position)
    assert not (left - read) & (below - ahead), (case, committed, position)
