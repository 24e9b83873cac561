"""Records through the transform of ``connect/``, as MirrorMaker 2's own classes make them, in one JVM without brokers.

The JVM is a process that answers a line of JSON with a line of JSON: ``MirrorCases.java``.
"""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offset_sync_demo.kafka.broker_files import find_jars
from offset_sync_demo.kafka.connect_transform import TRANSFORM, compile_java, compile_transform
from tools.asked_process import ask, asked_jvm

Headers = Sequence[tuple[str, bytes | None]]
_DRIVER = "org.apache.kafka.connect.mirror.MirrorCases"


@dataclass(frozen=True)
class Record:
    """A record as MirrorMaker's consumer reads it at *cluster*; *renames* is DefaultReplicationPolicy."""

    headers: Headers = ()
    cluster: str = "dc1"
    topic: str = "orders"
    partition: int = 3
    offset: int = 7
    timestamp: int = 1_700_000_000_000
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    renames: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what the driver makes it from."""
        headers = [[name, _encoded(value)] for name, value in self.headers]
        content = {"headers": headers, "key": _encoded(self.key), "value": _encoded(self.value)}
        return {"kind": "copy"} | vars(self) | content


@dataclass(frozen=True)
class Copy:
    """A record as it would be written to the target's log; a header's value is as ByteArrayConverter makes it."""

    topic: str
    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]

    def header(self, name: str) -> bytes | None:
        """Return the last value of a header; None where there is none."""
        return next((value for header, value in reversed(self.headers) if header == name), None)

    def stamp(self) -> tuple[bytes | None, ...]:
        """Return origin, offset and place, by the names that are the default."""
        return tuple(self.header(name) for name in ("IDC", "Offset", "Place"))


@dataclass(frozen=True)
class Answer:
    """What became of a record: *result*, None where it was dropped; *is_same* says that it was given back itself.

    *given* is the record that was handed in, as it is afterwards.
    """

    result: Copy | None
    given: Copy
    is_same: bool


class Refused(Exception):
    """Kafka's class of error and its message."""


class MirrorCases:
    """Asks the JVM."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def apply(self, *records: Record | Mapping[str, Any], times: int = 1, **options: str | None) -> list[Answer]:
        """Give each record to a new transform, *times* over; an underscore in the name of an option means a dot."""
        asked = [each.to_json() if isinstance(each, Record) else dict(each) for each in records]
        named = {name.replace("_", "."): value for name, value in options.items()}
        found = self.ask({"options": named, "records": asked, "times": times})["results"]
        return [Answer(_copy(each["result"]), _copy_of(each["given"]), each["same"]) for each in found]

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask anything; raises Refused."""
        answer = ask(self._process, question)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer


@contextmanager
def mirror_cases(folder: Path, transform: Path | None = None) -> Iterator[MirrorCases]:
    """Start the JVM; its classes and log go to *folder*. *transform* is a jar to use instead of the source."""
    jars = find_jars()
    kafka = [*sorted(jars.glob("*.jar")), *sorted((jars.parent / "mirror").glob("*.jar"))]
    known = [jar for jar in kafka if jar.name.startswith(("connect-", "kafka-clients-", "jackson-"))]
    classes = folder / "classes"
    if transform is None:
        transform = compile_transform(folder / "transform")
    classes.mkdir()
    compile_java(Path(__file__).with_name("MirrorCases.java"), known, classes)
    paths = ":".join(map(str, [classes, transform, *kafka]))
    with asked_jvm(folder, "transform.log", paths, _DRIVER, TRANSFORM) as process:
        yield MirrorCases(process)


def _encoded(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _decoded(value: str | None) -> bytes | None:
    return None if value is None else base64.b64decode(value)


def _copy(told: Mapping[str, Any] | None) -> Copy | None:
    return None if told is None else _copy_of(told)


def _copy_of(told: Mapping[str, Any]) -> Copy:
    headers = [(name, _decoded(value)) for name, value in told["headers"]]
    content = {name: _decoded(told[name]) for name in ("key", "value")}
    return Copy(told["topic"], told["partition"], told["timestamp"], **content, headers=headers)
