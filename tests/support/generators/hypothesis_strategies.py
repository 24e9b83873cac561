"""Logs and questions for hypothesis: the small ones that shrink, and the histories of an imperfect mirror."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from generators.mirrored_logs import random_cases, random_world
from oracles.translation import MALFORMED, Case, Log, LogRecord
from tools.thorough import examples

NOW_MS = 10


def law(number: int) -> settings:
    """The same examples every time, *number* in a thorough run, without a clock and without a memory."""
    return settings(
        max_examples=examples(number),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@st.composite
def logs(draw: st.DrawFn, cluster: str) -> Log:
    """Any log at all: stretches of any origin in any order, over so few identities that they meet and repeat."""
    stretches = st.tuples(st.sampled_from("XYZ?-"), st.integers(0, 6), st.integers(1, 4), st.integers(0, NOW_MS))
    records: list[LogRecord] = []
    offset = 0
    for origin, origin_start, length, indexed_at_ms in draw(st.lists(stretches, max_size=8)):
        for step in range(length):
            origin_offset = offset if origin == cluster and origin_start > 3 else origin_start + step
            if origin == cluster:
                origin_offset = min(origin_offset, offset)
            if origin != "-":
                name = MALFORMED if origin == "?" else origin
                records.append(LogRecord(offset, name, origin_offset, indexed_at_ms=indexed_at_ms))
            offset += 1
    compacted = draw(st.sets(st.integers(0, 12), max_size=3))
    records = [record for record in records if record.offset not in compacted]
    frontier = draw(st.one_of(st.just(offset), st.integers(0, offset)))
    return Log(cluster, tuple(records), draw(st.one_of(st.just(0), st.integers(0, offset))), offset, frontier)


@st.composite
def any_cases(draw: st.DrawFn) -> Case:
    """Commits of X asked of Y over any two logs, now and then without an index of X."""
    source = draw(st.one_of(logs("X"), logs("X"), logs("X"), st.none()))
    lost = draw(st.lists(st.tuples(st.sampled_from(["Y", "Y", "Z", "Z", MALFORMED]), st.integers(0, 8)), max_size=2))
    grace_ms = draw(st.integers(0, NOW_MS + 1))
    return Case("X", source, draw(logs("Y")), NOW_MS, grace_ms, tuple(lost) if source is not None else ())


def histories() -> st.SearchStrategy[Case]:
    """Questions about what producers and mirrors wrote."""

    def question(seed: int) -> Case:
        rng = random.Random(seed)
        asked = list(random_cases(random_world(rng, steps=rng.choice((5, 20, 40))), rng))
        return max(rng.choices(asked, k=3), key=lambda case: len(case.source_records) * len(case.target.indexed))

    return st.integers(0, 2**32 - 1).map(question)


cases = st.one_of(histories(), histories(), any_cases())
generators = st.integers(0, 2**32).map(random.Random)
