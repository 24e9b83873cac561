"""The interceptor of ``consumer/`` and Java programs that use it, as javac compiles them; and versions of clients."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

import consumer_jar
from java_jar import QUICKLY
from offset_sync_demo.kafka.broker_files import BrokerPartsMissing, find_jars

_BESIDE_CLIENTS = ("slf4j-api", "log4j-", "lz4-java", "snappy-java", "zstd-jni", "jackson-")


def jar_or_skip(folder: Path) -> Path:
    """Return the jar, built into *folder*; skips where there is no compiler, or no jar of Kafka."""
    try:
        find_jars()
        consumer_jar.PART.find_javac()
    except (BrokerPartsMissing, SystemExit) as missing:
        pytest.skip(str(missing))
    return consumer_jar.build_jar(folder)


def compiled(sources: Sequence[Path], known: Sequence[Path], classes: Path, *, release: int = 8) -> Path:
    """Compile *sources* against *known* and the broker's jars into the folder *classes*; return that."""
    classes.mkdir(parents=True, exist_ok=True)
    paths = ":".join(map(str, [*known, find_jars() / "*"]))
    words = ["--release", str(release), "-Xlint:-options", "-proc:none", "-nowarn", "-cp", paths, "-d", str(classes)]
    command = [consumer_jar.PART.find_javac(), *QUICKLY, *words, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return classes


def client_jars() -> dict[str, Path]:
    """Return the jar of each version of kafka-clients that is installed, by version, oldest first."""
    jars = find_jars()
    found = [*jars.glob("kafka-clients-[0-9]*.jar"), *jars.parent.rglob("kafka-clients-[0-9]*.jar")]
    versions = {jar.stem.removeprefix("kafka-clients-"): jar for jar in found}
    return dict(sorted(versions.items(), key=lambda each: [int(part) for part in each[0].split(".")]))


def class_path(client: Path, *more: Path) -> str:
    """Return a class path with this jar of kafka-clients, what it needs, and *more* before it."""
    beside = sorted(jar for jar in find_jars().glob("*.jar") if jar.name.startswith(_BESIDE_CLIENTS))
    return ":".join(map(str, [*more, client, *beside]))
