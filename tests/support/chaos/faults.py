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


@dataclass
class Stage:
    """Everything that runs, and what was done to it."""

    clusters: Mapping[str, EmbeddedCluster]
    drivers: Mapping[str, Drivers]
    mirror: RestartedMirror
    say: Callable[[str], None]
    actions: dict[str, Callable[[Stage, Fault], None]] = field(default_factory=lambda: dict(ACTIONS))
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


def kill_job(stage: Stage, fault: Fault) -> None:
    """SIGKILL, and a start a moment later."""
    stage.drivers[fault.target].kill()
    time.sleep(fault.seconds)
    stage.drivers[fault.target].restart()


def stop_job(stage: Stage, fault: Fault) -> None:
    """SIGSTOP, and SIGCONT a moment later."""
    job = stage.drivers[fault.target].current
    signal_all(job, signal.SIGSTOP)
    time.sleep(fault.seconds)
    signal_all(job, signal.SIGCONT)


def take_over_stopped(stage: Stage, fault: Fault) -> None:
    """A second driver while the first is stopped; the first wakes a moment after that one has claimed."""
    stage.drivers[fault.target].take_over(is_stopped=True, seconds=fault.seconds)


def take_over_running(stage: Stage, fault: Fault) -> None:
    """A second driver beside the first."""
    stage.drivers[fault.target].take_over(is_stopped=False, seconds=fault.seconds)


def kill_broker(stage: Stage, fault: Fault) -> None:
    """SIGKILL, and a start a moment later."""
    stage.clusters[fault.target].kill()
    time.sleep(fault.seconds)
    stage.clusters[fault.target].start()


def stop_broker(stage: Stage, fault: Fault) -> None:
    """SIGSTOP, and SIGCONT a moment later."""
    stage.clusters[fault.target].pause()
    time.sleep(fault.seconds)
    stage.clusters[fault.target].resume()


def kill_mirror(stage: Stage, fault: Fault) -> None:
    """SIGKILL, and a start a moment later."""
    stage.mirror.kill()
    time.sleep(fault.seconds)
    stage.mirror.start()


ACTIONS: Mapping[str, Callable[[Stage, Fault], None]] = {
    "SIGKILL of a job": kill_job,
    "SIGSTOP of a job": stop_job,
    "second driver while the first is stopped": take_over_stopped,
    "second driver beside the first": take_over_running,
    "SIGKILL of a broker": kill_broker,
    "SIGSTOP of a broker": stop_broker,
    "SIGKILL of MirrorMaker 2": kill_mirror,
}
