"""Record goldens from a running broker: ``python tests/golden/capture.py HOST:PORT LOG_FILE CLASSPATH VERSION``.

LOG_FILE is the segment of ``__consumer_offsets-0`` (the broker has ``offsets.topic.num.partitions=1`` and nothing
else in it). The meaning of each record is taken from Kafka's own ``DumpLogSegments --offsets-decoder``, never from
our decoders, so that the goldens judge them.
"""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
README = (
    "Records of __consumer_offsets of one Apache Kafka {version} broker, written by confluent-kafka and read back with "
    "read_committed by capture.py; 'kafka' is what Kafka's own DumpLogSegments --offsets-decoder says of them."
)
_LINE = re.compile(r"^\| offset: (\d+) .*? key: (\{.*\}) payload: (.*)$")


def main(bootstrap: str, log_file: str, classpath: str, version: str) -> None:
    """Run the scenario of the live test and write ``captured-VERSION.json`` beside this file."""
    scenario = runpy.run_path(str(HERE.parent / "broker" / "test_decode_live.py"))
    scenario["write_every_kind"](bootstrap, "golden")
    meanings = _kafka_reading(log_file, classpath)
    records = [
        {"log_offset": offset, "key": _hex(key), "value": _hex(value), "kafka": meanings[offset]}
        for _, offset, key, value in scenario["read_offsets_topic"](bootstrap)
    ]
    lines = ",\n".join(json.dumps(record) for record in records)
    readme = json.dumps(README.format(version=version))
    text = f'{{"README": {readme},\n"records": [\n{lines}\n]}}\n'
    (HERE / f"captured-{version}.json").write_text(text)


def _kafka_reading(log_file: str, classpath: str) -> dict[int, Any]:
    java = ["java", "-Dfile.encoding=UTF-8", "-cp", classpath, "org.apache.kafka.tools.DumpLogSegments"]
    command = [*java, "--offsets-decoder", "--files", log_file]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    found = [match.groups() for line in printed.splitlines() if (match := _LINE.match(line))]
    return {int(offset): {"key": json.loads(key), "value": _value(payload)} for offset, key, payload in found}


def _value(payload: str) -> Any:
    return None if payload == "<DELETE>" else json.loads(payload)


def _hex(octets: bytes | None) -> str | None:
    return None if octets is None else octets.hex()


if __name__ == "__main__":
    main(*sys.argv[1:])
