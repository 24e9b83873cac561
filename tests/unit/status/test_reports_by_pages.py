"""Reports on logs that are mostly in pages: the same rows, and few pages are held at a time."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from fakes.pages import KeptPages, let_go_of_all_but
from fakes.status_site import Row, site_of_case
from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from oracles.translation import Case

ALWAYS = {"report_time", "staleness_ms"}


def rows_of(case: Case, page_runs: int | None, rng: random.Random) -> list[Row]:
    """The report on groups at all places of both logs, in pages of so many runs."""
    assert case.source is not None
    places = [(rng.randint(0, case.source.log_end), rng.randint(0, case.target.log_end)) for _ in range(20)]
    site = site_of_case(case, places)
    for index in site.index.logs.values() if page_runs is not None else ():
        let_go_of_all_but(index, 1, page_runs or 1, KeptPages())
    rows = [{name: value for name, value in row.items() if name not in ALWAYS} for row in site.report(case.now_ms)]
    return sorted(rows, key=str)


@law(80)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_pages_change_nothing_in_a_report_but_what_may_be_repeated(seed: int, page_runs: int) -> None:
    rng = random.Random(seed)
    for case in random_cases(random_world(rng, steps=rng.choice((3, 10, 30))), rng):
        if case.source is not None:
            whole, paged = rows_of(case, None, random.Random(seed)), rows_of(case, page_runs, random.Random(seed))
            for before, after in zip(whole, paged, strict=True):
                # More copies of a record may be taken for others, see docs/design/index.md.
                at_most = before.pop("duplicates_at_most"), after.pop("duplicates_at_most")
                assert before == after
                assert at_most[0] is at_most[1] is None or at_most[0] <= at_most[1]
