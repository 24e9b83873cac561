"""What a new driver knows: of all of the history, and of last_known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from fakes.clusters import MemoryIndex
from fakes.driver import known
from offset_sync.config import Config
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.restore import restore_answers, restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.store import TableStore

ANSWERED = ("source_offset", "source_at_ms", "wanted", "state", "outcome", "duplicates", "duplicates_at_most", "lost")


class Start(NamedTuple):
    """What a new driver knows; *pending* is the last write of each key that was not read back.

    Of writes before it last_known knows nothing: their records count as the group's own if the log brings them.
    """

    commits: dict[Any, Any]
    answers: dict[Any, Any]
    pending: dict[str, dict[Any, int]]
    captured_ms: int


def seen(state: SyncState, captured_ms: int) -> Start:
    """Return what *state* knows."""
    keys = state.offsets.keys
    commits = known(SimpleNamespace(offsets=state.offsets))  # type: ignore[arg-type]
    for each in commits.values():
        del each["pending"]
    answers = {}
    for pair in state.last_translations:
        columns = state.last(*pair).columns
        for row, key in enumerate(keys):
            if columns["outcome"][row] >= 0:
                answers[(*pair, key)] = tuple(int(columns[name][row]) for name in ANSWERED)
    pending = {
        alias: {keys[row]: writes[-1].offset for row, writes in each.own_writes._pending.items()}
        for alias, each in state.offsets.clusters.items()
    }
    return Start(commits, answers, pending, captured_ms)


def whole(tables: TableStore, config: Config) -> Start:
    """Start from the whole history."""
    state, lives = SyncState(config, MemoryIndex()), CommitLogIncarnations(tables)
    captured_ms = restore_commits(tables, state, lives)
    restore_answers(tables, state)
    return seen(state, captured_ms)


def by_last_known(tables: TableStore, config: Config, *, is_owner: bool = True) -> Start:
    """Start from the table last_known, which is replaced by an owner."""
    state = SyncState(config, MemoryIndex())
    return seen(state, LastKnown(tables, config, replaces=is_owner).restore(state, CommitLogIncarnations(tables)))
