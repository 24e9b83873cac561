"""All commits of one partition from one source to one target: the theorem, with every reason not to apply it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, State
from offset_sync.translate.exact import (
    EXACT,
    Answers,
    Bounds,
    Strategy,
    needs_of_unindexed,
    translate,
    translate_no_later,
)
from offset_sync.translate.index.columns import Columns
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata, reason_of, reason_to_withhold
from offset_sync.translate.strategies import (
    Choice,
    choose,
    is_stamped,
    reason_to_refuse,
    unverified,
)

IS_WITHHELD = np.array([state.is_withheld for state in State])
"""By code of a state: whether it is a reason not to answer."""
_EXACT = int(State.EXACT)


@dataclass(frozen=True)
class Translations(Columns):
    """One row per commit, in the order asked; all arrays have shape (commits,).

    *offset* is t(c) and *wanted* the offset to commit, which is never below the target's log start; where the commit
    :attr:`is_withheld` there is neither, and both hold ``ABSENT``. *state* holds codes of :class:`State`. *duplicates*,
    *duplicates_at_most* and *lost* count records. *may_move*: the same commit may have another answer later, without
    anything new from the group. *is_at_start*: the source may hold no record below the commit, and the target some
    below the answer. *is_disordered*: a greater timestamp precedes the commit.
    """

    offset: Int64s
    wanted: Int64s
    state: NDArray[np.intp]
    duplicates: Int64s
    duplicates_at_most: Int64s
    lost: Int64s
    may_move: NDArray[np.bool_]
    is_at_start: NDArray[np.bool_]
    is_disordered: NDArray[np.bool_]

    @property
    def is_withheld(self) -> NDArray[np.bool_]:
        """Where there is no answer, for the reason that the state names."""
        return IS_WITHHELD[self.state]


def translate_partition(
    committed: Int64s,
    topic_ids: Sequence[str | None],
    source: PartitionLog,
    target: PartitionLog,
    bounds: Bounds,
    strategy: Strategy = EXACT,
) -> Translations:
    """Translate the *committed* offsets, shape (commits,), or withhold them with the reason.

    *topic_ids* are the incarnations of the topic that the commits name (None: the commit names none). Promises that a
    group that resumes at a *wanted* offset skips no record but those counted in *lost*, which retention has deleted.
    Errs to earlier answers, for a truncated target to the cut, and to withholding.
    """
    reason = reason_to_withhold(source, target)
    if reason is None and strategy.name != "exact":
        reason = reason_to_refuse(strategy, source, target)
    if reason is not None:
        return withhold_all(reason, committed, source.metadata)
    if (cut_at := target.metadata.cut_at) is not None:
        # Earlier answers may be above the cut, below which the index is valid.
        bounds = bounds._replace(window_start=min(bounds.window_start, cut_at))
        target = replace(target, index=target.index.below(cut_at))
    if not target.is_indexed:
        # An empty log needs no index: everything in it is read, and its end is the answer.
        target = replace(target, index=LogIndex(target.metadata.log_end))
    is_disordered: NDArray[np.bool_] = np.zeros(len(committed), np.bool_)
    if strategy.name == "exact":
        answers = translate(committed, source, target, bounds)
        state = _states(answers)
    else:
        choice = choose(strategy, committed, source, target)
        is_disordered = choice.is_disordered
        # Before anything is stamped, only headers can tell the target's own records from copies.
        if strategy.name == "header" or is_stamped(source, target):
            answers = translate_no_later(committed, choice.offset, source, target, bounds)
        else:
            answers = unverified(choice, committed, source, target)
        state = _states_of_choice(answers, choice, committed, source, target)
    if strategy.name in ("exact", "header") and target.index.begin > target.log_start:
        state[committed < needs_of_unindexed(source, target, bounds)] = State.NOT_INDEXED
    # Committed past the end, or the log was truncated: not everything below such a commit is read.
    state[committed > source.metadata.log_end] = State.COMMIT_BEYOND_END
    state[_names_another_topic(topic_ids, source)] = State.TOPIC_RECREATED
    # Of a source that does not answer the log start is unknown.
    start = source.log_start if source.metadata.log_end < NO_LIMIT else NO_LIMIT
    is_at_start = (committed <= start) & (answers.offset > target.log_start)
    return _translations(answers, target.log_start, state, is_at_start, is_disordered)


def _states(answers: Answers) -> NDArray[np.intp]:
    state: NDArray[np.intp] = np.where(answers.at_frontier, int(State.AT_FRONTIER), int(State.EXACT))
    state[answers.index_behind] = State.INDEX_BEHIND
    return state


def _states_of_choice(
    answers: Answers, choice: Choice, committed: Int64s, source: PartitionLog, target: PartitionLog
) -> NDArray[np.intp]:
    """Return the states of another strategy's answers; those that could lose records are withheld."""
    state = np.where(answers.is_exact | choice.is_exact, _states(answers), State.APPROXIMATE)
    state[choice.offset > answers.offset] = State.STRATEGY_REFUSED
    state[~choice.is_found] = State.NO_REFERENCE
    # Records below the index are unknown: the first unread one may be there.
    is_unknown = (committed < source.index.begin) & (source.index.begin > source.log_start)
    is_unknown |= (choice.offset <= target.index.begin) & (target.index.begin > target.log_start)
    state[is_unknown] = State.NOT_INDEXED
    return state


def _names_another_topic(topic_ids: Sequence[str | None], source: PartitionLog) -> NDArray[np.bool_]:
    """Return which commits name another incarnation of the topic; False where either id is unknown."""
    current = source.metadata.topic_id
    return np.array([bool(each and current) and each != current for each in topic_ids], np.bool_)


def _translations(
    answers: Answers,
    log_start: int,
    state: NDArray[np.intp],
    is_at_start: NDArray[np.bool_],
    is_disordered: NDArray[np.bool_],
) -> Translations:
    may_move = answers.has_young_hole | (state != _EXACT)
    counts = (answers.duplicates, answers.duplicates_at_most, answers.lost)
    wanted = np.maximum(answers.offset, log_start)
    found = Translations(answers.offset, wanted, state, *counts, may_move, is_at_start, is_disordered)
    # The column timestamp_disordered describes the commit, so it is kept where the answer is withheld.
    return replace(withhold_some(found, np.where(IS_WITHHELD[state], state, ABSENT)), is_disordered=is_disordered)


def withhold_some(answers: Translations, reasons: NDArray[np.intp]) -> Translations:
    """Return *answers*, withheld where *reasons*, shape (commits,), has the code of a reason and not ABSENT."""
    is_withheld = reasons != ABSENT
    if not is_withheld.any():
        return answers
    none = withhold(reasons, len(reasons))
    columns = zip(none.columns, answers.columns, strict=True)
    return Translations(*(np.where(is_withheld, withheld, answered) for withheld, answered in columns))


def withhold_all(reason: State, committed: Int64s, said: PartitionMetadata | None) -> Translations:
    """Withhold all of *committed*, shape (commits,), for the *reason* or for what the source has *said*.

    A truncated or recreated log and commits beyond its end take precedence: only the source can show them, and they
    must be known when it is gone.
    """
    found = withhold(reason, len(committed))
    if reason is State.LOG_TRUNCATED or said is None:
        return found
    of_log = reason_of(said)
    if of_log in (State.LOG_TRUNCATED, State.TOPIC_RECREATED):
        return withhold(of_log, len(committed))
    is_beyond = (committed > said.log_end) & (of_log is None)
    return withhold_some(found, np.where(is_beyond, int(State.COMMIT_BEYOND_END), ABSENT))


def withhold(reason: State | NDArray[np.intp], commits: int) -> Translations:
    """Return *commits* rows without an answer, all for the one *reason* or each for its own code."""
    none, zero = np.full(commits, ABSENT, np.int64), np.zeros(commits, np.int64)
    state = np.full(commits, reason, np.intp)
    no, yes = np.zeros(commits, np.bool_), np.ones(commits, np.bool_)
    return Translations(none, none, state, zero, zero, zero, yes, no, no)


def concatenate(parts: Sequence[Translations]) -> Translations:
    """Return all rows of *parts*, in order."""
    return parts[0] if len(parts) == 1 else parts[0].followed_by(*parts[1:])
