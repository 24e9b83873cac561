"""The state of the clusters and of an installation's files at one moment, to be compared with later."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import deltalake

from broker.committed_offsets import Partition, committed
from broker.installation import Installation, Row
from broker.log_contents import CommitRecord, read_commit_records
from offset_sync_demo.kafka.brokers import EmbeddedCluster

TABLE_OF = {"index_records": "record_runs", "sync_offsets": "offset_commits"}
"""The table in which a job's micro-batches leave their numbers."""


@dataclass(frozen=True)
class Query:
    """A checkpoint: the id of its query, what each micro-batch is to read, which ones are done.

    *in_table* is the last micro-batch whose rows the table holds, as the table's log says.
    """

    id: str
    planned: dict[int, str]
    done: set[int]
    in_table: int | None

    @property
    def unfinished(self) -> set[int]:
        """Return the micro-batches that are planned and not done; Spark plans one at a time."""
        return self.planned.keys() - self.done if max(self.planned) > max(self.done) else set()


@dataclass(frozen=True)
class Moment:
    """Committed offsets by cluster and group, commit records by cluster, tables by name, checkpoints by job.

    *group_records* counts records about classic groups.
    """

    held: dict[str, dict[str, dict[Partition, int]]]
    commits: dict[str, list[CommitRecord]]
    group_records: dict[str, int]
    tables: dict[str, list[Row]]
    queries: dict[tuple[str, str], Query]

    def written(self, alias: str) -> Counter[tuple[str, str, int]]:
        """Return how many records a cluster's log of commits has about each group, topic and partition."""
        return Counter(record.key for record in self.commits[alias])


def take_moment(installation: Installation, clusters: Mapping[str, EmbeddedCluster], groups: Collection[str]) -> Moment:
    """Read all of it; no job may be running."""
    read = {alias: read_commit_records(cluster) for alias, cluster in clusters.items()}
    held = {
        alias: {group: {place: each.offset for place, each in by.items()} for group, by in found.items()}
        for alias, found in ((alias, committed(cluster, groups)) for alias, cluster in clusters.items())
    }
    return Moment(
        held=held,
        commits={alias: commits for alias, (commits, _) in read.items()},
        group_records={alias: count for alias, (_, count) in read.items()},
        tables={path.name: installation.rows(path.name) for path in sorted((installation.folder / "tables").iterdir())},
        queries={(job, alias): _query(installation, job, alias) for job in TABLE_OF for alias in clusters},
    )


def writers(installation: Installation, table: str) -> set[str]:
    """Return the application ids in those entries of a table's log that are still there."""
    entries = (installation.folder / "tables" / table / "_delta_log").glob("*.json")
    actions = (json.loads(line) for entry in entries for line in entry.read_text().splitlines())
    return {action["txn"]["appId"] for action in actions if "txn" in action}


def _query(installation: Installation, job: str, alias: str) -> Query:
    folder = installation.folder / "checkpoints" / job / alias
    query_id = json.loads((folder / "metadata").read_text())["id"]
    table = deltalake.DeltaTable(installation.folder / "tables" / TABLE_OF[job])
    return Query(
        query_id,
        {int(path.name): path.read_text() for path in _numbered(folder / "offsets")},
        {int(path.name) for path in _numbered(folder / "commits")},
        table.transaction_version(f"{job}-{query_id}"),
    )


def _numbered(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.isdigit()]
