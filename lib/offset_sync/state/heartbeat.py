"""Whether the answers in the tables are of now: the sign of life of ``sync_offsets``, beside the checkpoints.

Written every few seconds by a driver whose first pass is over, whose lease is valid, and whose rows are all in the
tables. Clocks may differ, so an answer of a driver that has died is taken as present for at most twice
:data:`FRESH_S`. A clock that is further off makes it look dead, which only costs time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from offset_sync.config import Config
from offset_sync.state.lease import Claim, unended
from offset_sync.tables.files import Files

JOB = "sync_offsets"
EVERY_S, FRESH_S = 3.0, 10.0


def beat(files: Files, config: Config, epoch: int, now_ms: int) -> None:
    """Write that the driver of *epoch* is alive."""
    files.write_text(_place(config), json.dumps({"epoch": epoch, "at_ms": now_ms}))


def is_living(files: Files, config: Config, claims: Iterable[Claim], now_ms: int) -> bool:
    """Return whether the sign of the driver of the newest of *claims* is seconds old; errs to False."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        said, held = json.loads(files.read_text(_place(config))), unended(claims, JOB, None)
        return bool(held) and held[-1].epoch == said["epoch"] and abs(now_ms - said["at_ms"]) <= FRESH_S * 1000
    return False


def _place(config: Config) -> str:
    return f"{config.tables.checkpoints}/sync_offsets.heartbeat.json"
