"""All commits of one partition from one source to one target: the theorem, with every reason not to apply it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import State
from offset_sync.translate.exact import Answers, needs_of_unindexed, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s
from offset_sync.translate.preconditions import PartitionMetadata, reason_to_withhold
from offset_sync.translate.strategies import EXACT, Choice, Logs, Strategy, choose, reason_to_refuse, unverified


@dataclass(frozen=True)
class Translations:
    """One row per commit, in the order asked. *offset* is t(c), *wanted* what to commit, both -1 when withheld."""

    offset: Int64s
    wanted: Int64s
    state: NDArray[np.intp]
    duplicates: Int64s
    duplicates_at_most: Int64s
    lost: Int64s
    may_move: NDArray[np.bool_]
    is_disordered: NDArray[np.bool_]


def translate_partition(
    committed: Int64s,
    topic_ids: Sequence[str | None],
    source: PartitionMetadata | None,
    source_index: LogIndex | None,
    target: PartitionMetadata,
    *,
    source_origin: int,
    young_since_ms: int,
    window_start: int = 0,
    strategy: Strategy = EXACT,
    target_origin: int = UNKNOWN_ORIGIN,
) -> Translations:
    """Translate, or withhold with the reason; *topic_ids* are the incarnations that the commits name (None: none).

    *source* None: only *source_index* is known of it. An empty target log needs no
    index: everything in it is read, and its end is the answer.
    """
    reason = reason_to_withhold(source, target)
    if reason is None and any(log is not None and log.is_contradicted for log in (source_index, target.index)):
        reason = State.LOG_TRUNCATED
    index = target.index if target.index is not None else LogIndex(target.log_end)
    logs, choice = Logs(source_index or LogIndex(), index, source_origin, target_origin), None
    if reason is None and strategy.name != "exact":
        reason = reason_to_refuse(strategy, logs)
    if reason is not None:
        return withhold(reason, len(committed))
    if strategy.name != "exact":
        choice = choose(strategy, committed, logs, source, target)
    if choice is not None and not logs.is_stamped:
        answers = unverified(choice, committed, logs, target)
    else:
        answers = translate(
            committed,
            source_index,
            index,
            source_origin=source_origin,
            young_since_ms=young_since_ms,
            window_start=window_start,
            target_log_start=target.log_start,
            chosen=choice.offset if choice is not None else None,
        )
    state = _states(answers)
    if choice is not None:
        state = _states_of_choice(state, answers, choice, committed, logs, source, target)
    elif index.begin > target.log_start:
        needed = needs_of_unindexed(source_index, index, source_origin=source_origin, young_since_ms=young_since_ms)
        state[committed < needed] = State.NOT_INDEXED
    if source is not None:
        # Somebody committed past the end, or the log was cut: below such a commit is not all read.
        state[committed > source.log_end] = State.COMMIT_BEYOND_END
        is_stale = [bool(topic_id and source.topic_id) and topic_id != source.topic_id for topic_id in topic_ids]
        state[np.array(is_stale, np.bool_)] = State.TOPIC_RECREATED
    return _answered(answers, state, choice)


def _states_of_choice(
    state: NDArray[np.intp],
    answers: Answers,
    choice: Choice,
    committed: Int64s,
    logs: Logs,
    source: PartitionMetadata | None,
    target: PartitionMetadata,
) -> NDArray[np.intp]:
    """Return the states of another strategy's answers; what it may not answer is withheld."""
    state = np.where(answers.is_t | choice.is_exact, state, State.APPROXIMATE)
    state[answers.is_too_late] = State.STRATEGY_REFUSED
    state[choice.offset < 0] = State.NO_REFERENCE
    source_start = source.log_start if source is not None else 0
    # Of what stands below the index nothing is known: the first unread record may be there.
    is_unknown = (committed < logs.source.begin) & (logs.source.begin > source_start)
    is_unknown |= (choice.offset <= logs.target.begin) & (logs.target.begin > target.log_start)
    state[is_unknown] = State.NOT_INDEXED
    return state


def _states(answers: Answers) -> NDArray[np.intp]:
    return np.select(
        [answers.index_behind, answers.at_frontier],
        [State.INDEX_BEHIND, State.AT_FRONTIER],
        State.EXACT,
    )


IS_WITHHELD = np.array([state.is_withheld for state in State])


def _answered(answers: Answers, state: NDArray[np.intp], choice: Choice | None) -> Translations:
    is_withheld = IS_WITHHELD[state]
    return Translations(
        offset=np.where(is_withheld, -1, answers.offset),
        wanted=np.where(is_withheld, -1, answers.clamped_offset),
        state=state,
        duplicates=np.where(is_withheld, 0, answers.duplicates),
        duplicates_at_most=np.where(is_withheld, 0, answers.duplicates_at_most),
        lost=np.where(is_withheld, 0, answers.lost),
        may_move=answers.has_young_hole | (state != State.EXACT),
        is_disordered=choice.is_disordered if choice is not None else np.zeros(len(state), np.bool_),
    )


def withhold(reason: State, commits: int) -> Translations:
    """Return *commits* rows without an answer, for the one *reason*."""
    none, zero = np.full(commits, -1, np.int64), np.zeros(commits, np.int64)
    state = np.full(commits, reason, np.intp)
    no, yes = np.zeros(commits, np.bool_), np.ones(commits, np.bool_)
    return Translations(none, none, state, zero, zero, zero, yes, no)


def concatenate(parts: Sequence[Translations]) -> Translations:
    """Return all rows of *parts*, in order."""
    return Translations(
        **{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Translations)}
    )
