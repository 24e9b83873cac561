"""The clock of a cluster's brokers against ours, by the newest commit. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from offset_sync.model.finding import Finding, Level
from offset_sync.state.cluster_clock import WRONG_MS
from offset_sync.status.format import to_duration

_CHECK = "clock"


def judge_clock(alias: str, newest_ms: int | None, now_ms: int) -> Iterator[Finding]:
    """Yield what the newest timestamp in ``__consumer_offsets`` says; None: there is none, or it cannot be read.

    A clock that is ahead shows at once, as a commit of a time that is still to come. One that is behind looks like a
    cluster without commits: ``sync_offsets`` measures it while it reads.
    """
    place = f"clusters.{alias}"
    if newest_ms is None:
        yield Finding(Level.SKIP, place, _CHECK, "no commit to tell it by; sync_offsets measures it while it reads")
        return
    ahead_ms = newest_ms - now_ms
    if ahead_ms > WRONG_MS:
        says = f"its newest commit is of {to_duration(ahead_ms)} from now: a clock is wrong"
        yield Finding(Level.WARN, place, _CHECK, f"{says}; set the brokers' clocks, or this machine's (NTP)")
        return
    says = f"its newest commit is {to_duration(max(0, -ahead_ms))} old"
    yield Finding(Level.OK, place, _CHECK, f"{says}, so its clock is not ahead of ours")
