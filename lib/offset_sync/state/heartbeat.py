"""Whether the answers in the tables are of now: the sign of life of ``sync_offsets``, beside the checkpoints.

Written every few seconds by a driver whose first pass is over, whose lease is valid, and whose rows are all in the
tables. Clocks may differ, so an answer of a driver that has died is taken as present for at most twice
:data:`FRESH_S`. A clock that is further off makes it look dead, which only costs time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.state.lease import Claim, unended
from offset_sync.tables.files import Files

JOB = "sync_offsets"
EVERY_S, FRESH_S = 3.0, 10.0


class Heartbeat(NamedTuple):
    """The driver of *epoch* was alive then, and had measured how far clusters' clocks are ahead of its own."""

    epoch: int
    at_ms: int
    clocks_ahead_ms: Mapping[str, int]


def beat(files: Files, config: Config, said: Heartbeat) -> None:
    """Write that a driver is alive."""
    files.write_text(_place(config), json.dumps(said._asdict()))


def of_living(files: Files, config: Config, claims: Iterable[Claim], now_ms: int) -> Heartbeat | None:
    """Return the sign of the driver of the newest of *claims*, if it is seconds old; errs to None."""
    with suppress(OSError, ValueError, TypeError):
        said, held = Heartbeat(**json.loads(files.read_text(_place(config)))), unended(claims, JOB, None)
        if held and held[-1].epoch == said.epoch and abs(now_ms - said.at_ms) <= FRESH_S * 1000:
            return said
    return None


def _place(config: Config) -> str:
    return f"{config.tables.checkpoints}/sync_offsets.heartbeat.json"
