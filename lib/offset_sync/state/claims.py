"""Who drives a job: rows of the table ``drivers``, and what follows from them. Pure.

The newest claim holds a job, so a driver that is started again need not wait for the one before it to be given up. That
one, should it still live, looks before it writes and finds the newer claim.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa

from offset_sync.tables.catalog import DRIVERS


@dataclass(frozen=True)
class Claim:
    """A driver's claim on *job* or, of a cutover, on one group; *ended_at* is None until it says that it has ended."""

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


def holders(claims: Iterable[Claim], job: str, groups: Collection[str | None]) -> dict[str | None, Claim]:
    """Return the newest claim on each of *groups*; None is the job as a whole. It may have ended since."""
    found: dict[str | None, Claim] = {}
    for claim in claims:
        if claim.job != job or claim.group_id not in groups:
            continue
        before = found.get(claim.group_id)
        if before is None or (claim.epoch, claim.ended_at is not None) >= (before.epoch, before.ended_at is not None):
            found[claim.group_id] = claim
    return found


def newer_than(claims: Iterable[Claim], mine: Sequence[Claim]) -> Claim | None:
    """Return the newest claim of somebody else on anything of *mine*, made after it; None where all is still mine.

    That its driver has ended since gives nothing back: what it has written is not known here.
    """
    epochs = {(claim.job, claim.group_id): claim.epoch for claim in mine}
    above = [claim for claim in claims if claim.epoch > epochs.get((claim.job, claim.group_id), claim.epoch)]
    return max(above, key=lambda claim: claim.epoch, default=None)


def ended(claims: Iterable[Claim], at: datetime) -> list[Claim]:
    """Return the claims as their driver leaves them."""
    return [replace(claim, ended_at=at) for claim in claims]


def to_rows(claims: Iterable[Claim]) -> pa.Table:
    """Return claims as rows of the table."""
    return pa.Table.from_pylist([vars(claim) for claim in claims], DRIVERS.arrow_schema)


def to_claims(rows: pa.Table) -> list[Claim]:
    """Return rows of the table as claims."""
    return [Claim(**row) for row in rows.select(DRIVERS.names).to_pylist()]
