"""How fast records become runs, against Kafka's own ConsumerPerformance on the same topic; and where the time goes.

A real broker holds records of 200 bytes, half of them mirrored, in stretches of 1 to --longest. ConsumerPerformance
reads them twice, the second time counts. Then `index_records --once` reads them as in production, in micro-batches of
which the first half warms the JVM up. Between them are the stages: Spark reads the same topic and drops it after one
step more each time. Only one of the two clusters has records, and the other knows that it had the originals; as in
production each has its share of the task slots, which on local[*] is one per core.

    .venv/bin/python benchmarks/indexing.py [--records 9000000] [--partitions 8] [--longest 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import numpy as np
import pyarrow.compute as pc
import yaml
from confluent_kafka import OFFSET_END, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from indexing_stages import measure_stages
from processes import peak_memory_mib
from results import save

from offset_sync_demo.kafka.broker_files import find_jars, find_java
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.story.jobs import REPOSITORY, write_config

TOPIC = "measured"
PRODUCERS = 2
BATCHES = 6
WARM_UP = 3
VALUE = b"x" * 200
ORIGINALS_AT_ONCE = 200_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=9_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--longest", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="offset-sync-indexing-") as name,
        running_clusters(["dc1", "dc2"], Path(name) / "brokers") as clusters,
    ):
        create_topic(clusters.values(), TOPIC, given.partitions)
        servers = clusters["dc1"].bootstrap_servers
        fill(servers, clusters["dc2"].bootstrap_servers, given)
        limit = [consume(servers, given.records) for _ in range(2)][-1]
        config = Path(name) / "indexing.yaml"
        write_config(config, clusters, Path(name))
        tree = yaml.safe_load(config.read_text())
        tree["topics"]["include"] = [TOPIC]
        tree["index"]["max_offsets_per_trigger"] = given.records // BATCHES
        config.write_text(yaml.safe_dump(tree))
        rows: list[dict[str, Any]] = [{"what": "ConsumerPerformance", "records_per_s": round(limit)}]
        rows += [{"what": "index_records", **index(config, Path(name) / "tables" / "record_runs", given.records)}]
        rows += measure_stages(config, given.records // 2)
    for row in rows:
        row["of_the_limit"] = round(row["records_per_s"] / limit, 2)
    save("indexing", vars(given) | {"record bytes": len(VALUE)}, rows)


class Share(NamedTuple):
    """What one process writes: so many *records* into each of its *partitions*, and the offsets of their originals."""

    servers: str
    servers_of_origin: str
    partitions: Sequence[int]
    records: int
    longest: int
    seed: int


def fill(servers: str, servers_of_origin: str, given: argparse.Namespace) -> None:
    """Write the records into the topic, each process its own partitions.

    Nothing is a copy of what was never written: the logs of the origin end where the originals of all copies would
    have been. They are deleted there, as old records are, so that only one cluster has anything to read.
    """
    each = given.records // given.partitions
    shares = [
        Share(servers, servers_of_origin, range(n, given.partitions, PRODUCERS), each, given.longest, given.seed + n)
        for n in range(PRODUCERS)
    ]
    with multiprocessing.get_context("spawn").Pool(PRODUCERS) as pool:
        pool.map(produce, shares)
    ends = [TopicPartition(TOPIC, number, OFFSET_END) for number in range(given.partitions)]
    admin = AdminClient({"bootstrap.servers": servers_of_origin})  # has to live until it has answered
    for deleted in admin.delete_records(ends).values():
        deleted.result()


def produce(share: Share) -> None:
    """Write a share: native and mirrored records take turns."""
    options = {"linger.ms": 20, "batch.size": 500_000, "queue.buffering.max.messages": 1_000_000, "log_level": 0}
    producer = Producer({"bootstrap.servers": share.servers, **options})
    originals = Producer({"bootstrap.servers": share.servers_of_origin, **options})
    random = np.random.default_rng(share.seed)
    for partition in share.partitions:
        sent = origin = 0
        is_mirrored = False
        while sent < share.records:
            for _ in range(min(int(random.integers(1, share.longest + 1)), share.records - sent)):
                headers = {"IDC": b"dc2", "Offset": b"%d" % origin} if is_mirrored else {}
                producer.produce(TOPIC, VALUE, partition=partition, headers={**headers})
                sent, origin = sent + 1, origin + is_mirrored
            producer.poll(0)
            is_mirrored = not is_mirrored
            origin += 3
        producer.flush()
        for number in range(origin):
            originals.produce(TOPIC, partition=partition)
            if number % ORIGINALS_AT_ONCE == 0:
                originals.flush()
        originals.flush()


def consume(servers: str, records: int) -> float:
    """Return the records a second at which Kafka's own consumer reads the topic, without its time to join a group."""
    command = [find_java(), "-Xmx512m", "-cp", f"{find_jars()}/*", "org.apache.kafka.tools.ConsumerPerformance"]
    command += ["--bootstrap-server", servers, "--topic", TOPIC, "--num-records", str(records), "--timeout", "60000"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("start.time"))
    found = dict(zip(lines[place].split(", "), lines[place + 1].split(", "), strict=True))
    return float(found["fetch.nMsg.sec"])


def index(config: Path, table: Path, records: int) -> dict[str, Any]:
    """Run the job and return its rate: a micro-batch lasts until the next one begins, which its rows tell."""
    command = ["./spark-submit.sh", "index_records", "--driver-memory", "2g", "--conf", str(config), "--once"]
    with (config.parent / "index_records.log").open("wb") as log:
        job = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log)
        peak = 0
        while job.poll() is None:
            peak = max(peak, peak_memory_mib(job.pid))
            try:
                job.wait(2.0)
            except subprocess.TimeoutExpired:
                continue
    rows = deltalake.DeltaTable(table).to_pyarrow_table(columns=["indexed_at", "length"])
    batches = rows.group_by("indexed_at").aggregate([("length", "sum")]).sort_by("indexed_at")
    found = pc.sum(batches["length_sum"]).as_py()
    if job.returncode or found != records:
        raise SystemExit(f"exit code {job.returncode}, {found} of {records} records indexed")
    begins = batches["indexed_at"].cast("int64").to_numpy() / 1e6
    counts = batches["length_sum"].to_numpy()
    rate = counts[WARM_UP:-1].sum() / (begins[-1] - begins[WARM_UP])
    return {"records_per_s": round(rate), "peak_mib": peak}


if __name__ == "__main__":
    main()
