"""The lease of a driver, claimed when it starts and lost to any later claim; it tells whether writes may be sent.

A process may be suspended between any two instructions, and another driver may take over meanwhile. So a write checks
twice: first by a look at the table, and again for each request, as late as possible, by the age of that look. A task
checks the time since its start instead. A look asks the storage whether the table ``drivers`` has a new version. It is
valid for :data:`FRESH_S`, by this machine's monotonic clock and from its beginning::

    this driver   claim 7 · look · write · look · write · · · (stopped) · · · · look: 8 is newer, end
    the next one                                 claim 8 · restore · read to the end · look · write

The newest claim holds a job, so a restarted driver need not wait until the former one times out. If that one still
runs, it looks before it writes and finds the newer claim. The new driver writes only when that time has passed since
its claim is in the table: each look that has not seen it began before, and is over by then.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Protocol

import pyarrow as pa

from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.model.stream_names import Names
from offset_sync.state.failpoints import in_append
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)

FRESH_S = 6.0
"""How long a look is valid; where one takes as long nothing is written."""
_EARLY_S = 3.0
"""How long before its end the next one begins, so that writers seldom wait."""
SETTLE_S = 2.0
"""How long the last requests of the former driver may be on their way; a start takes longer anyway."""
_WATCH_S = 1.0
_LAST_LOOK_S = 5.0
"""How long the end waits for a look in flight: the session ends next."""
_ATTEMPTS = 20
TASK_S = 10.0
"""How long a task may write after its start: it cannot look at the lease itself."""


@dataclass(frozen=True)
class Claim:
    """A driver's claim on *job* or, of a cutover, on one group; *ended_at* is None until it has ended."""

    job: str
    group_id: str | None
    epoch: int
    driver_id: str
    host: str
    pid: int
    claimed_at: datetime
    ended_at: datetime | None = None

    @property
    def what(self) -> str:
        """What is claimed, for a person."""
        return self.job if self.group_id is None else f"{self.job} of group {self.group_id}"

    @property
    def who(self) -> str:
        """Who claimed it and when, for a person."""
        return f"process {self.pid} on {self.host}, since {self.claimed_at:%Y-%m-%d %H:%M:%S} UTC"


def next_epoch(claims: Iterable[Claim], job: str) -> int:
    """Return the epoch of the claim after *claims*; the groups of one job count together."""
    return max((claim.epoch for claim in claims if claim.job == job), default=0) + 1


def unended(claims: Iterable[Claim], job: str, group_id: str | None) -> list[Claim]:
    """Return the claims on a group, None: on the job as a whole, whose drivers may still write; the newest last.

    These are the ones after the last that has ended: it waited for those before it.
    """
    of_it = [each for each in claims if (each.job, each.group_id) == (job, group_id)]
    over = max((each.epoch for each in of_it if each.ended_at is not None), default=0)
    return sorted((each for each in of_it if each.epoch > over), key=lambda each: each.epoch)


def newer_than(claims: Iterable[Claim], mine: Sequence[Claim]) -> Claim | None:
    """Return the newest claim of another driver on anything of *mine*, made after it; None where all is still mine.

    A claim whose driver has ended counts too: its writes are unknown here.
    """
    epochs = {(claim.job, claim.group_id): claim.epoch for claim in mine}
    above = [claim for claim in claims if claim.epoch > epochs.get((claim.job, claim.group_id), claim.epoch)]
    return max(above, key=lambda claim: claim.epoch, default=None)


def ended(claims: Iterable[Claim], at: datetime) -> list[Claim]:
    """Return the claims with the end of their driver."""
    return [replace(claim, ended_at=at) for claim in claims]


def to_rows(claims: Iterable[Claim]) -> pa.Table:
    """Return claims as rows of the table."""
    return pa.Table.from_pylist([vars(claim) for claim in claims], DRIVERS.arrow_schema)


def to_claims(rows: pa.Table) -> list[Claim]:
    """Return rows of the table as claims."""
    return [Claim(**row) for row in rows.select(DRIVERS.names).to_pylist()]


def elapsed_s() -> float:
    """Return monotonic seconds; on Linux the time in which the machine was suspended counts too."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """One driver's hold on *job* or, of a cutover, on some groups; threads may share it.

    *stop* is set when it is lost. Errs to lost: a driver that cannot read the table does not write.
    """

    def __init__(
        self,
        tables: TableStore,
        job: str,
        stop: threading.Event,
        now: Callable[[], float] = elapsed_s,
    ) -> None:
        self.stop = stop
        self._tables, self._job, self._now = tables, job, now
        self._mine: list[Claim] = []
        self._version: int | None = None
        self._open_until = float("-inf")
        self._newer: Claim | None = None
        self._settled_at = float("-inf")
        self._lock, self._has_ended = threading.Lock(), threading.Event()

    def claim(self, groups: Sequence[str] = ()) -> None:
        """Take over the job, or these *groups* of it; simultaneous claims get different epochs."""
        driver_id, host = uuid.uuid4().hex, socket.gethostname()
        for _ in range(_ATTEMPTS):
            rows, version = self._tables.rows_since(DRIVERS, None)
            claims = to_claims(rows)
            epoch, at = next_epoch(claims, self._job), datetime.now(timezone.utc)
            mine = [Claim(self._job, group, epoch, driver_id, host, os.getpid(), at) for group in groups or (None,)]
            began = self._now()
            # One append per epoch of the job: a second driver with the same epoch appends nothing, and takes the next.
            self._tables.append(DRIVERS, to_rows(mine), (f"driver-{self._job}", epoch))
            rows, after = self._tables.rows_since(DRIVERS, version)
            added = to_claims(rows)
            if any(claim.driver_id == driver_id for claim in added):
                self._hold(mine, claims + added)
                self._newer = newer_than(added, mine)
                self._version, self._open_until = after, began + FRESH_S
                return
        raise TableError(f"tables.drivers: {_ATTEMPTS} others have claimed {self._job} first; start it again")

    def _hold(self, mine: list[Claim], claims: Iterable[Claim]) -> None:
        self._mine, groups = mine, {each.group_id for each in mine}
        before = [each for each in claims if each.job == self._job and each.epoch < mine[0].epoch]
        left = [each for group_id in groups for each in unended(before, self._job, group_id)]
        wait_s = FRESH_S + SETTLE_S
        if left:
            self._settled_at = self._now() + wait_s
        logger.info("this is driver %d of %s (%s)", mine[0].epoch, self._job, mine[0].driver_id)
        for claim in left:
            logger.info("%s is taken over from %s, without its end: writes wait %.1f s", claim.what, claim.who, wait_s)

    @property
    def epoch(self) -> int:
        """The number of the claim."""
        return self._mine[0].epoch

    @property
    def is_settled(self) -> bool:
        """True when no write of the former driver can arrive any more; it may have been in the middle of one."""
        return self._now() >= self._settled_at

    def settle(self) -> None:
        """Wait until :attr:`is_settled`, or for a stop."""
        self.stop.wait(max(0.0, self._settled_at - self._now()))

    def renew(self) -> None:
        """Look at the table unless the last look is still valid.

        Raises TakenOverError when another driver has claimed after us, TableError when the table cannot be read.
        """
        if self.is_open():
            return
        with self._lock:
            while self._newer is None and not self.is_open():
                self._look()
        self.raise_if_lost()

    def is_open(self) -> bool:
        """Return whether it was ours at the last look, and that is still valid."""
        return self._newer is None and self._now() < self._open_until

    def raise_if_lost(self) -> None:
        """Raise TakenOverError, naming the new holder, when a newer claim was seen."""
        if self._newer is not None:
            self.stop.set()
            claim = self._newer
            raise TakenOverError(f"{claim.what} was taken over by {claim.who}; this one writes nothing more and ends")

    def _look(self) -> None:
        began = self._now()  # what is seen may be as old as this
        try:
            rows, version = self._tables.rows_since(DRIVERS, self._version)
        except Exception as problem:
            reason = next(iter(str(problem).splitlines()), type(problem).__name__)
            raise TableError(f"tables.drivers cannot be read, so nothing is written: {reason}") from problem
        self._newer = self._newer or newer_than(to_claims(rows), self._mine)
        self._version, self._open_until = version, began + FRESH_S
        if (look_s := self._now() - began) > _EARLY_S - _WATCH_S:  # writers wait for the rest
            slow = f"slow storage: {look_s:.1f} s to look at {self._tables.path(DRIVERS)}"
            if look_s >= FRESH_S:
                raise TableError(f"{slow}, so nothing is written; move the tables nearer to the drivers")
            logger.warning("%s", slow)

    def watch(self) -> None:
        """Look from time to time until it is given back, so that a driver with nothing to write ends too."""
        while not self._has_ended.wait(_WATCH_S):
            try:
                if self._now() + _EARLY_S >= self._open_until:
                    with self._lock:
                        self._look()
                self.raise_if_lost()
            except TakenOverError:
                return  # the job is stopping, and says why
            except TableError as problem:
                logger.warning("%s", problem)

    def end(self) -> None:
        """Record that this driver has ended: the next one need not wait for it, or for those before it.

        Not where another has taken over, or one before may still write.
        """
        self._has_ended.set()
        if self._newer is not None or not self._mine or not self.is_settled:
            return
        try:
            self._tables.append(DRIVERS, to_rows(ended(self._mine, datetime.now(timezone.utc))))
        except Exception as problem:  # the next driver only waits some seconds
            logger.warning("tables.drivers: cannot record that this driver has ended: %s", type(problem).__name__)


@contextmanager
def held(lease: Lease, groups: Sequence[str] = ()) -> Iterator[Lease]:
    """Claim *lease*, for some *groups* or as a whole, watch it while the job runs, and give it back.

    Raises TakenOverError at the end when it was lost, whatever other error the job has raised.
    """
    lease.claim(groups)
    watching = threading.Thread(target=lease.watch, name="lease", daemon=True)
    watching.start()
    try:
        yield lease
    finally:
        lease.end()
        watching.join(_LAST_LOOK_S)
        lease.raise_if_lost()


class Fence(Protocol):
    """Lets writes through as long as no other driver has taken over."""

    def renew(self) -> None:
        """Check that writes may be sent for the next moment.

        Raises TakenOverError where another driver has taken over, TableError where that is unknown.
        """

    def is_open(self) -> bool:
        """Return whether a request may be sent at this instant; costs nothing."""


class OpenFence:
    """For a writer that cannot be taken over."""

    def renew(self) -> None:
        """Check nothing."""

    def is_open(self) -> bool:
        """Return True."""
        return True


class TaskFence:
    """Open for *seconds* from when it was made, by the clock of the machine that a task runs on.

    The driver looks at the lease before it starts the task, and ends the task when the lease is lost.
    """

    def __init__(self, seconds: float = TASK_S, now: Callable[[], float] = elapsed_s) -> None:
        self._now, self._ends_at = now, now() + seconds

    def renew(self) -> None:
        """Check nothing: a task cannot look at the lease."""

    def is_open(self) -> bool:
        """Return whether there is time left."""
        return self._now() < self._ends_at


class FencedTables(TableStore):
    """Tables under *root*; *fence* is renewed before each entry, so after the lease is lost none is made.

    A file that was written before is never read then. Raises TakenOverError.
    """

    def __init__(self, root: str, fence: Fence, files: Files | None = None, names: Names | None = None) -> None:
        def before_entry(path: str) -> None:
            fence.renew()
            in_append(path)

        super().__init__(root, files, names, before_entry)
