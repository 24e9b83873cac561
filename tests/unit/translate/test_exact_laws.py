"""Laws of the translation core, on arbitrary small logs and on histories of an imperfect mirror."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import cases, generators, law
from offset_sync.translate.exact import Bounds, translate, translate_no_later
from oracles.translation import Case, answers
from oracles.translation_check import ask, every_commit, growing, logs_of


@law(800)
@given(cases, generators, st.sampled_from([None, 1, 2, 3]))
def test_every_answer_is_the_one_of_brute_force_also_where_pages_were_let_go(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    commits = rng.sample(every_commit(case), len(every_commit(case)))
    for known, source, target in growing(case, rng, page_runs):
        # Now and then between their batches too: what an answer leaves behind in them is tested as well.
        if known == case or rng.random() < 0.6:
            wanted = answers(known, commits)
            window_start = rng.choice((0, min(answer.offset for answer in wanted)))
            assert ask(known, commits, source, target, window_start=window_start) == wanted
            for commit, answer in zip(commits, wanted, strict=True) if page_runs else ():
                assert ask(known, [commit], source, target) == [answer]


@law(800)
@given(cases, generators)
def test_what_another_strategy_chose_counts_where_it_is_below_the_exact_answer(case: Case, rng: random.Random) -> None:
    *_, (_, *indexes) = growing(case)
    *_, (_, *paged) = growing(case, rng, rng.randint(1, 3))
    logs, paged_logs = logs_of(case, *indexes), logs_of(case, *paged)
    commits = np.array(every_commit(case), np.int64)[rng.randrange(len(every_commit(case))) :]
    bounds = Bounds(case.now_ms - case.hole_grace_ms)
    exact = translate(commits, *logs, bounds).offset
    chosen = np.array(
        [rng.choice((-1, 0, case.target.frontier, rng.randint(0, case.target.frontier))) for _ in commits]
    )
    whole = translate_no_later(commits, chosen, *logs, bounds)
    found = translate_no_later(commits, chosen, *paged_logs, bounds._replace(window_start=int(exact.min())))
    assert found.offset.tolist() == np.where(chosen < 0, exact, np.minimum(chosen, exact)).tolist()
    assert found.is_exact.tolist() == ((chosen < 0) | (chosen >= exact)).tolist()
    assert found.duplicates.tolist() == whole.duplicates.tolist()
