"""Holes of which the simulation is known to find the fault: closed ones with the remedy taken out, and open ones."""

from __future__ import annotations

from simulation.finding import Remedy

CLOSED = {
    "a hole ages only while the index keeps up": Remedy(
        frozenset({"late"}),
        (("offset_sync.state.translator._watched_until_ms", lambda _log, _source, now_ms: now_ms),),
        seed=18,
    ),
}
OPEN = {
    "headers leak": Remedy(frozenset({"leak"})),
    "__consumer_offsets shrinks": Remedy(frozenset({"shrink"})),
}
"""Switches that are off: today's code does not withstand them."""
