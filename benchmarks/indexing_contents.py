"""What it costs to tell copies by their contents, against headers: the same two logs indexed both ways, in turns.

dc1 has produced records of 200 bytes, dc2 has a copy of each, with the headers of a mirror that stamps them. A running
`index_records` reads both from their beginning: once by headers, and once as if there were none. What counts is the
time from its first micro-batch until all records of both are in `record_runs`, and its processor time until then.

    .venv/bin/python benchmarks/indexing_contents.py [--records 3000000] [--partitions 8] [--rounds 2]
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.compute as pc
import yaml
from confluent_kafka import Producer
from processes import peak_memory_mib, processor_s
from results import save

from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.story.jobs import REPOSITORY, write_config

TOPIC = "measured"
BEGAN_MS = 1_795_000_000_000
PATIENCE_S = 900.0
EXTENSIONS: dict[str, dict[str, Any]] = {
    "headers": {},
    # The copies have headers of which their originals know nothing.
    "fingerprint": {"contents": {"flows": [["dc1", "dc2"]], "exclusive": True, "keeps": ["timestamps"]}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {identity: [] for identity in EXTENSIONS}
    with (
        tempfile.TemporaryDirectory(prefix="offset-sync-contents-") as name,
        running_clusters(["dc1", "dc2"], Path(name) / "brokers") as clusters,
    ):
        create_topic(clusters.values(), TOPIC, given.partitions)
        servers = [clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")]
        shares = [
            (each, bool(n), given.records // given.partitions, given.partitions) for n, each in enumerate(servers)
        ]
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.starmap(produce, shares)
        for number in range(given.rounds):
            for identity, extensions in EXTENSIONS.items():
                folder = Path(name) / f"{identity}-{number}"
                folder.mkdir()
                config = folder / "indexing.yaml"
                write_config(config, clusters, folder)
                tree = yaml.safe_load(config.read_text())
                tree["topics"]["include"], tree["extensions"] = [TOPIC], extensions
                tree["index"]["max_offsets_per_trigger"] = given.records // 6
                config.write_text(yaml.safe_dump(tree))
                found[identity].append(index(config, folder / "tables" / "record_runs", 2 * given.records))
    rows = [{"what": identity, **best(measured)} for identity, measured in found.items()]
    for row in rows:
        row["of_headers"] = round(row["processor_s"] / rows[0]["processor_s"], 2)
    save("indexing_contents", vars(given), rows)


def produce(servers: str, is_mirrored: bool, records: int, partitions: int) -> None:
    """Write so many records into each partition, the same on both sides."""
    options = {"linger.ms": 20, "batch.size": 500_000, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({"bootstrap.servers": servers, "log_level": 0, **options})
    for partition in range(partitions):
        for number in range(records):
            headers = {"IDC": b"dc1", "Offset": b"%d" % number} if is_mirrored else {}
            value = b"%d of %d" % (number, partition)
            at_ms = BEGAN_MS + number // 10
            producer.produce(TOPIC, value.ljust(200, b"x"), partition=partition, headers={**headers}, timestamp=at_ms)
            if number % 1_000 == 0:
                producer.poll(0)
        producer.flush()


def index(config: Path, table: Path, records: int) -> dict[str, Any]:
    """Run the job until *records* are in the table; return how long that took, and what it used."""
    command = ["./spark-submit.sh", "index_records", "--driver-memory", "2g", "--conf", str(config)]
    log = config.parent / "index_records.log"
    with log.open("wb") as output:
        job = subprocess.Popen(command, cwd=REPOSITORY, stdout=output, stderr=output)
    try:
        wait_for(lambda: "this is driver" in log.read_text(), job)
        began, used = time.monotonic(), processor_s(job.pid)
        wait_for(lambda: indexed(table) >= records, job)
        seconds, processor = time.monotonic() - began, processor_s(job.pid) - used
        found = {"records_per_s": round(records / seconds), "processor_s": round(processor, 1)}
        return found | {"peak_mib": peak_memory_mib(job.pid)}
    finally:
        job.send_signal(signal.SIGTERM)
        job.wait()


def indexed(table: Path) -> int:
    """Return how many records are in the table."""
    if not any((table / "_delta_log").glob("*.json")):
        return 0
    rows = deltalake.DeltaTable(table).to_pyarrow_table(columns=["length"])
    return int(pc.sum(rows.column("length")).as_py() or 0)


def wait_for(is_done: Any, job: subprocess.Popen[bytes]) -> None:
    """Return when *is_done*; SystemExit where that takes too long or the job has ended."""
    until = time.monotonic() + PATIENCE_S
    while not is_done():
        if job.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"not indexed, exit code {job.poll()}")
        time.sleep(0.25)


def best(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the round that used the least of the processor."""
    return min(measured, key=lambda each: float(each["processor_s"]))


if __name__ == "__main__":
    main()
