"""What a run of ``sync_offsets`` holds while it lasts: the lease of the job, or nothing that is another's."""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from offset_sync.config import Config
from offset_sync.state.lease import Lease, NoLease, held
from offset_sync.tables.store import TableStore

_LOOK_S = 60.0


@dataclass(frozen=True)
class Run:
    """What a dry run has of its own: no lease, and *checkpoints* in another place.

    Where it is not *is_writing*, no cluster is written to; what is seen and answered is written down by all but a dry
    run.
    """

    lease: Lease
    checkpoints: str
    is_dry: bool
    is_writing: bool


def opened(
    config: Config, tables: TableStore, arguments: argparse.Namespace, stop: threading.Event
) -> AbstractContextManager[Run]:
    """Return the run that *arguments* ask for."""
    if arguments.dry_run:
        return rehearsing(stop)
    return driving(config, tables, stop, is_writing=not arguments.no_writes)


@contextmanager
def driving(config: Config, tables: TableStore, stop: threading.Event, *, is_writing: bool) -> Iterator[Run]:
    """Claim the job for as long as it runs."""
    with held(Lease(tables, "sync_offsets", stop)) as lease:
        yield Run(lease, config.tables.checkpoints, is_dry=False, is_writing=is_writing)


@contextmanager
def rehearsing(stop: threading.Event) -> Iterator[Run]:
    """Have a place for the checkpoints of a dry run, which claims nothing."""
    # Nothing but this process reads or writes them, wherever the tables lie and the tasks run.
    with tempfile.TemporaryDirectory(prefix="offset-sync-dry-run-") as folder:
        yield Run(NoLease(stop), Path(folder).as_uri(), is_dry=True, is_writing=False)


def following(stop: threading.Event) -> threading.Event:
    """Return an event that is set as soon as *stop* is, and may be set before."""
    mine = threading.Event()

    def follow() -> None:
        while not stop.wait(_LOOK_S) and not mine.is_set():
            pass
        mine.set()

    threading.Thread(target=follow, name="stop", daemon=True).start()
    return mine
