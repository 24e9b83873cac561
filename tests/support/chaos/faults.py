"""Faults as they are done to real processes, each in a thread of its own."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chaos.drivers import Drivers, signal_all
from chaos.schedule import Fault
from offset_sync_demo.kafka.brokers import EmbeddedCluster


class RestartedMirror(Protocol):
    """What copies records and may be killed, see ``offset_sync_demo/load/stamping_mirror.py``."""

    def start(self) -> None: ...
    def kill(self) -> None: ...
    def drain(self, timeout: float) -> None: ...
    def log_tail(self) -> str: ...


Action = Callable[["Stage", Fault], None]


@dataclass
class Stage:
    """Everything that runs, and what was done to it."""

    clusters: Mapping[str, EmbeddedCluster]
    drivers: Mapping[str, Drivers]
    mirror: RestartedMirror
    say: Callable[[str], None]
    actions: dict[str, Action] = field(default_factory=lambda: dict(ACTIONS))
    """By kind: what is done."""
    done: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    def play(self, faults: Sequence[Fault], is_over: threading.Event | None = None) -> None:
        """Let the faults happen when they are due, and return when the last one is over; *is_over* ends them sooner."""
        began, is_over = time.monotonic(), is_over or threading.Event()
        threads = []
        for fault in faults:
            if self._waits_until(began + fault.at_s, is_over):
                break
            threads.append(threading.Thread(target=self._do, args=(fault,), daemon=True))
            threads[-1].start()
        for thread in threads:
            while thread.is_alive():
                self.supervise()
                thread.join(0.5)

    def supervise(self) -> None:
        """Start drivers again that have ended by themselves."""
        for drivers in self.drivers.values():
            if drivers.lock.acquire(blocking=False):
                try:
                    drivers.check()
                finally:
                    drivers.lock.release()

    def violations(self) -> list[str]:
        """Return what was wrong with the drivers' ends, and faults that could not be done."""
        return [line for drivers in self.drivers.values() for line in drivers.violations] + self.failed

    def _waits_until(self, at_s: float, is_over: threading.Event) -> bool:
        """Return True as soon as it *is_over*, or False when it is time."""
        while not is_over.is_set() and (left := at_s - time.monotonic()) > 0:
            self.supervise()
            is_over.wait(min(0.5, left))
        return is_over.is_set()

    def _do(self, fault: Fault) -> None:
        lock = self.drivers[fault.target].lock if fault.target in self.drivers else self._lock(fault.target)
        with lock:
            self.say(f"{fault.kind}: {fault.target}, {fault.seconds:.1f} s")
            began = time.monotonic()
            try:
                self.actions[fault.kind](self, fault)
            except Exception as problem:
                self.failed.append(f"{fault.kind}, {fault.target}: {problem!r}")
                self.say(f"FAILED {self.failed[-1]}")
            self.done[fault.kind] += 1
            self.say(f"{fault.kind}: {fault.target}, over after {time.monotonic() - began:.1f} s")

    def _lock(self, name: str) -> threading.Lock:
        return self._locks.setdefault(name, threading.Lock())


def _for_a_while(begin: Callable[[Stage, str], object], end: Callable[[Stage, str], object]) -> Action:
    def act(stage: Stage, fault: Fault) -> None:
        begin(stage, fault.target)
        time.sleep(fault.seconds)
        end(stage, fault.target)

    return act


def _take_over(*, is_stopped: bool) -> Action:
    """A second driver beside the first; one that *is_stopped* wakes a moment after the second has claimed."""
    return lambda stage, fault: stage.drivers[fault.target].take_over(is_stopped=is_stopped, seconds=fault.seconds)


def _signal(number: signal.Signals) -> Callable[[Stage, str], None]:
    return lambda stage, job: signal_all(stage.drivers[job].current, number)


ACTIONS: Mapping[str, Action] = {
    "SIGKILL of a job": _for_a_while(lambda s, job: s.drivers[job].kill(), lambda s, job: s.drivers[job].restart()),
    "SIGSTOP of a job": _for_a_while(_signal(signal.SIGSTOP), _signal(signal.SIGCONT)),
    "second driver while the first is stopped": _take_over(is_stopped=True),
    "second driver beside the first": _take_over(is_stopped=False),
    "SIGKILL of a broker": _for_a_while(lambda s, at: s.clusters[at].kill(), lambda s, at: s.clusters[at].start()),
    "SIGSTOP of a broker": _for_a_while(lambda s, at: s.clusters[at].pause(), lambda s, at: s.clusters[at].resume()),
    "SIGKILL of MirrorMaker 2": _for_a_while(lambda s, _: s.mirror.kill(), lambda s, _: s.mirror.start()),
}
