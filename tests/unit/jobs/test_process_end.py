"""Processes that are ended from outside: by signals, to them or to their whole group, and by the death of their JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from offset_sync.jobs import process_end
from offset_sync.jobs.process_end import ProcessEnd
from offset_sync.spark import jvm

LIB = Path(__file__).resolve().parents[3] / "lib"
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(LIB)}
NAP_S = 0.05
CONF = """
clusters: {x: {kafka: {bootstrap.servers: "x:9092"}}, y: {kafka: {bootstrap.servers: "y:9092"}}}
topics: {include: [orders]}
"""
SCRIPT = """
import hashlib, subprocess, sys, time
from types import SimpleNamespace
from pyspark import SparkContext
from offset_sync.model.errors import JvmEndedError
from offset_sync.jobs.runner import job_arguments, run_job
from offset_sync.spark import jvm as door

def ready(): print("ready", flush=True)

def busy(config, arguments, stop):
    ready()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)  # minutes in C: Python's handlers do not run

def polling(config, arguments, stop):
    ready()
    while not stop.wait(0.1): pass
    time.sleep(5)  # what is in hand
    return ["finished"]

def holding(config, arguments, stop):
    ready()
    while not stop.is_set():
        with stop._cond: time.sleep(0.2)  # as Event.wait does for a moment
    return ["finished"]

def starting(config, arguments, stop):
    jvm = subprocess.Popen(["sleep", "300"])
    ready()
    jvm.wait()
    raise JvmEndedError("Java ended while it was starting; the lines before say why")

def asking(config, arguments, stop):
    jvm = subprocess.Popen(["sleep", "300"])
    SparkContext._gateway = SimpleNamespace(proc=jvm)
    print(jvm.pid, flush=True)
    def die():
        while jvm.poll() is None: time.sleep(0.01)
        raise ConnectionError("Answer from Java side is empty")
    if "--once" in sys.argv: die()
    while not stop.wait(0.1): pass
    die()

sys.exit(run_job(globals()[sys.argv.pop(1)], job_arguments("Does something.")))
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a job in a process group of its own; its first line of output says that it runs."""
    (tmp_path / "sync.yaml").write_text(CONF)

    def start(function: str, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, function, "--conf", str(tmp_path / "sync.yaml"), *options]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT, start_new_session=True)

    return start


def ended(job: subprocess.Popen[str], within: float) -> tuple[int, list[str]]:
    """Return the code and what it said after its start, when it ends in time.

    Time is counted in naps of ours, so that a machine that stalls for seconds does not fail the test.
    """
    naps = 0
    try:
        while job.poll() is None and naps * NAP_S < 60:
            time.sleep(NAP_S)
            naps += 1
        assert job.poll() is not None
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    _, said = job.communicate(timeout=60)
    assert naps * NAP_S < within
    return job.returncode, [line for line in said.splitlines() if " INFO offset_sync" not in line]


def test_a_dead_jvm_is_noticed_while_the_job_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    process, looks, ends = ProcessEnd(print, 0), [True, False], list[tuple[str, int]]()
    monkeypatch.setattr(process, "_is_over", SimpleNamespace(wait=lambda _seconds: looks.pop()))
    monkeypatch.setattr(process, "_end", lambda line, code: ends.append((line.partition(",")[0], code)))
    monkeypatch.setattr(process_end, "_SAME_SIGNAL_S", 0.0)
    monkeypatch.setattr(jvm, "jvm_exit_code", lambda: -9)
    process._watch_ends()
    assert ends == [("the JVM was killed by SIGKILL", 1)]


STOPPED = (0, "stopped by SIGTERM")
KILLED = "the JVM was killed by SIGKILL, so this job ends: see the lines above for the cause, and start it again"


@pytest.mark.parametrize(
    ("words", "send", "within", "expected"),
    [
        ("busy", lambda job, _: job.terminate(), 5.0, STOPPED),
        ("polling", lambda job, _: job.terminate(), 15.0, (1, "finished")),
        ("holding", lambda job, _: [job.send_signal(signal.SIGINT) for _ in range(2)], 30.0, (1, "finished")),
        ("asking", lambda _, jvm: os.kill(int(jvm), signal.SIGKILL), 10.0, (1, KILLED)),
        ("asking --once", lambda _, jvm: os.kill(int(jvm), signal.SIGKILL), 10.0, (1, KILLED)),
        ("asking", lambda job, _: os.killpg(job.pid, signal.SIGTERM), 5.0, STOPPED),
        ("starting", lambda job, _: os.killpg(job.pid, signal.SIGTERM), 5.0, STOPPED),
    ],
    ids=[
        "it does not look",
        "it finishes what is in hand",
        "its flag is locked, as from a terminal and what started it",
        "the JVM is killed",
        "the JVM is killed, once",
        "a stop though the JVM dies of it",
        "a stop while the JVM starts",
    ],
)
def test_a_job_ends_whatever_it_is_doing(
    start: Callable[..., subprocess.Popen[str]],
    words: str,
    send: Callable[[subprocess.Popen[str], str], object],
    within: float,
    expected: tuple[int, str],
) -> None:
    job = start(*words.split())
    assert job.stdout
    send(job, job.stdout.readline())
    code, lines = ended(job, within)
    assert code == expected[0]
    assert lines[-1].startswith(expected[1])


READERS = """
import atexit, sys, threading, time
import pyarrow as pa, pyarrow.fs as pafs, pyarrow.parquet as pq
from deltalake.fs import DeltaStorageHandler
from offset_sync.jobs.process_end import end_process
path = sys.argv[1]
pq.write_table(pa.table({name: ["x" * 50] * 20_000 for name in "abcdef"}), path)
system = pafs.PyFileSystem(DeltaStorageHandler("file:///"))
def read():
    while True: pq.read_table(path[1:], filesystem=system)
for _ in range(3):
    threading.Thread(target=read, daemon=True).start()
atexit.register(print, "registered")
time.sleep(0.3)
print("said")
end_process(3)
"""


def test_a_job_ends_with_its_code_whatever_its_threads_are_doing(tmp_path: Path) -> None:
    """Ended by ``sys.exit`` every other one of these is killed by SIGSEGV."""
    for _ in range(2):
        words = [sys.executable, "-c", READERS, str(tmp_path / "rows.parquet")]
        ended = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stdout) == (3, "said\nregistered\n"), ended.stderr[-2000:]
