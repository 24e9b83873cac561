"""After quiet: the offset at every target, asked of its coordinator, has to be exact."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from chaos.commit_log import Key
from chaos.observer import Observer
from chaos.traffic import Traffic
from offset_sync_demo.kafka.clients import Partition


def mirrored(observer: Observer, aliases: Sequence[str], places: Sequence[Partition], seconds: float) -> bool:
    """Return, within that time, whether every cluster has come to hold every record."""
    until = time.monotonic() + seconds
    one, other = aliases
    while True:
        observer.look()
        contents = observer.contents
        if not any(contents.lacking(one, p, other) + contents.lacking(other, p, one) for p in places):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(0.5)


def inexact(traffic: Traffic) -> list[str]:
    """Return a line for each target offset that is not that of the first record which the group has not read."""
    lines: list[str] = []
    for group, home in traffic.groups.homes.items():
        for target in traffic.clusters.keys() - {home}:
            held = traffic.groups.held(group, target)
            for place in traffic.places:
                exact = traffic.observer.exact(Key(group, place), target)
                stands = None if held is None else held.get(place)
                if stands != exact:
                    lines.append(f"{group} {place[0]}-{place[1]} at {target}: {stands}, exact is {exact}")
    return lines


def wait_until_exact(traffic: Traffic, seconds: float, say: Callable[[str], None]) -> list[str]:
    """Return what is not exact after *seconds*; it is looked at every second, and said since when all is exact."""
    began, was_exact = time.monotonic(), False
    while True:
        traffic.observer.look()
        lines, passed = inexact(traffic), time.monotonic() - began
        if was_exact is bool(lines):
            say(f"{len(lines)} not exact" if lines else f"all exact {passed:.1f} s after quiet")
        was_exact = not lines
        if passed >= seconds:
            return lines
        time.sleep(1.0)
