"""What replaces the functions that keep the invariants of docs/design.md, so that these do not hold."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.ingest.commit_ingester import CommitIngester
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.polled_commits import CommitPoller
from offset_sync.ingest.run_cuts import RowCutter
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.state.group_homes import Homes, homes
from offset_sync.sync.direction_queue import ReconcileRequest, Selection
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.translate.exact import translate_no_later
from offset_sync.translate.pieces import Pieces

_take_in, _compare = SyncBatch.__call__, CommitPoller._compare
_commit_and_read_back, _write = CutoverProcedure._commit_and_read_back, CommitIngester.write
_reconcile_batch, _submit = Reconciler.reconcile_batch, Reconciler._submit
_of_batch = partial(ReconcileRequest, Selection.CHANGED)


_number, _unsettled = RowCutter._number, IncarnationCheck.unsettled


def cut_by(owner: str) -> Any:
    """Cut no row by the log in its column *owner*."""

    def number(cutter: Any, places: Any, column: str) -> Any:
        found = _number(cutter, places, column)
        return np.full_like(found, -1) if column == owner else found

    return number


def endless(cut: Any, _ends: Any) -> Any:
    """Take the logs of all origins for endless."""
    return np.full(cut.num_rows, 10_000_000_000)


def none_that_came_back(check: Any, alias: str, *read: Any) -> Any:
    """Take copies that came back to *alias* for those of its present records."""
    return {origin: begin for origin, begin in _unsettled(check, alias, *read).items() if origin[0] != alias}


def read_by_all(runs: Any) -> Pieces:
    """Take records of unknown identity for read."""
    is_so = np.zeros(len(runs), np.bool_)
    return Pieces(runs.start, runs.length, np.zeros(len(runs), np.int64), is_so, ~is_so, is_so)


def matches_whatever(writes: Any, key_id: int, *_record: Any) -> bool:
    """Take a record of any value for the next write of ours."""
    return bool(writes._pending.pop(key_id, []))


def matches_in_any_order(writes: Any, key_id: int, value: int, *_record: Any) -> bool:
    """Leave the writes before the one that is matched."""
    pending = writes._pending.get(key_id, [])
    writes._keep(key_id, [each for each in pending if each.offset != value])
    return any(each.offset == value for each in pending)


def matches_again_and_again(writes: Any, key_id: int, value: int, *_record: Any) -> bool:
    """Let a write of ours explain any number of records."""
    return writes._last(key_id, value) is not None


def append_at_once(history: Any, done: Any) -> None:
    """Append translations while the one who writes offsets waits."""
    rows = to_rows(done, np.arange(len(done.is_news)), history._keys, history._config)
    history._tables.append(OFFSET_TRANSLATIONS, rows)


def written_unseen(ingester: Any, *batch: Any) -> Any:
    """Write a micro-batch's commits, which may fail, and no one notices."""
    try:
        return _write(ingester, *batch)
    except BaseException:
        return {}


def handed_over_and_waited_for(reconciler: Any, source: str, rows: Any, batch_id: int) -> None:
    """Wait until a micro-batch is reconciled, for some seconds."""
    answered = threading.Thread(target=reconciler._ask, args=(_of_batch(rows, batch_id), source), daemon=True)
    answered.start()
    answered.join(3)


def by_the_newest_index(reconciler: Any, *batch: Any) -> None:
    """Read the tables before a micro-batch is handed over."""
    reconciler._state.index.refresh()
    _reconcile_batch(reconciler, *batch)


def hand_over_with_the_newest_index(driver: Any, *batch: Any) -> None:
    """Follow the index of a simulated driver whenever a micro-batch is handed over."""
    driver.follow_index()
    driver.waiting.append(batch)


def what_waits_now(reconciler: Any, request: Any, source: str | None = None) -> None:
    """Hand over the keys that wait by now, whatever a pass in progress leaves waiting."""
    if request.selection is not Selection.WAITING:
        return _submit(reconciler, request, source)
    for pair, queue in reconciler._queues.items():
        waiting = request.rows[reconciler._state.last(*pair).is_waiting(request.rows)]
        queue.submit(replace(request, rows=waiting))
    return None


def take_in_as_if_ready(batch: Any, *arguments: Any) -> None:
    """Take in a micro-batch as if every log had been read."""
    batch._is_ready.set()
    _take_in(batch, *arguments)


def home_first(procedure: Any, plans: Any, timeout_s: float) -> Any:
    """Make the target the home before its offsets are there."""
    procedure._make_home(plans, timeout_s)
    return _commit_and_read_back(procedure, plans, timeout_s)


class UnsettledOnly:
    """Kinds of passes, of which none reads every target."""

    CHANGED, WAITING, DECIDED = Selection.CHANGED, Selection.WAITING, Selection.DECIDED
    EVERY = UNSETTLED = Selection.UNSETTLED


def begin_at_once(queue: Any, request: Any) -> Any:
    """Begin a request beside the one in progress."""
    answer: Future[Any] = Future()
    threading.Thread(target=lambda: answer.set_result([*queue._reconcile(request).failures]), daemon=True).start()
    return answer


class OpenLock(nullcontext[None]):
    """A lock that everyone holds at once."""

    def acquire(self, *, blocking: bool) -> bool:
        return True


def as_new_as_the_poll(poller: Any, answers: Any, held: Any) -> Any:
    """Date each commit that is found when it was asked for."""
    return [each._replace(since_ms=poller._state.now_ms()) for each in _compare(poller, answers, held)]


def whatever_was_read(_known: Any, _read: Any, ends: Any, asked_at: Any) -> Any:
    """Take a log for complete as soon as its end was asked for."""
    return dict.fromkeys(ends, asked_at)


def on_a_list_of_any_epoch(progress: Any, offset: int, epoch: int | None) -> bool:
    """Take a record for read that a list contains, wherever the list begins and under whichever leader."""
    found = progress.read_list
    return found is not None and epoch is not None and found.contains(offset)


def deleted_anywhere(offsets: Any, _kept_ms: int = 0) -> Any:
    """Drop what was deleted at one cluster."""
    return (offsets.column("is_deleted") != 0).any(axis=0)


def later_too(committed: Any, chosen: Any, *of_logs: Any) -> Any:
    """Let a strategy answer later than is exact."""
    found = translate_no_later(committed, chosen, *of_logs)
    return found._replace(offset=np.where(chosen >= 0, chosen, found.offset))


def never_contested(*activity_and_times: Any) -> Homes:
    """Let the cluster of the newest commit be the home, whatever the others say."""
    found = homes(*activity_and_times)
    return found._replace(is_contested=np.zeros(len(found.home), np.bool_))
