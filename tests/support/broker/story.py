"""What many tests tell: records at dc1 that dc2 holds further up, groups that commit at dc1, and what comes of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, Row, until
from broker.job import Job, ThreadJob

_PRODUCED_MS = int(time.time() * 1000) - 3_600_000
SHIFT = 3
"""An offset at dc1 is so much more at dc2."""


@dataclass
class Story:
    """One topic of one partition."""

    clusters: Clusters
    topic: str
    count: int = 0

    @property
    def place(self) -> Partition:
        """Return the partition."""
        return self.topic, 0

    @property
    def servers(self) -> dict[str, str]:
        """Return where the clusters are."""
        return {alias: cluster.bootstrap_servers for alias, cluster in self.clusters.items()}

    def begin(self) -> Story:
        """Make the topic at both clusters."""
        for cluster in self.clusters.values():
            create_topics(cluster, {self.topic: 1})
        return self

    def write(self, more: int) -> None:
        """Let dc1 produce so many records more, and the mirror copy them."""
        self.count += more
        stamp = Stamp(since_ms=_PRODUCED_MS)
        write_log(self.clusters["dc1"], {self.place: native_log("dc1", self.count)}, stamp)
        copies = [*[None] * SHIFT, *copied_log("dc1", range(self.count), first=SHIFT)]
        write_log(self.clusters["dc2"], {self.place: copies}, stamp)

    def commit(self, group: str, offset: int, alias: str = "dc1") -> None:
        """Let a group commit an offset of dc1 at a cluster."""
        commit(self.clusters[alias], {group: {self.place: offset + (SHIFT if alias == "dc2" else 0)}})

    def offset(self, group: str, alias: str = "dc2") -> int | None:
        """Return what a group has at a cluster now, as an offset of dc1."""
        found = committed(self.clusters[alias], [group])[group].get(self.place)
        return None if found is None else found.offset - (SHIFT if alias == "dc2" else 0)

    def arrives(self, group: str, offset: int, job: Job | ThreadJob | None = None) -> None:
        """Return once the group's *offset* at dc1 is translated at dc2; an AssertionError if dc2's is ahead."""

        def stands() -> bool:
            found = self.offset(group)
            assert found is None or found <= offset, f"{group}: {found} is ahead of {offset}"
            return found == offset

        until(stands, job=job)

    def check_index(self, rows: Iterable[Row]) -> None:
        """Every record is in ``record_runs``, and none twice."""
        assert self.missing(rows) == {"dc1": set(), "dc2": set()}

    def missing(self, rows: Iterable[Row]) -> dict[str, set[int]]:
        """Return, per cluster, the origin offsets that no run holds; an AssertionError where two runs hold one."""
        left = {alias: set(range(self.count)) for alias in self.clusters}
        for row in rows:
            if row["topic"] != self.topic or not row["length"]:
                continue
            first, shift = row["origin_start"], 0 if row["cluster"] == "dc1" else SHIFT
            assert (row["origin"], row["start_offset"]) == ("dc1", first + shift), row
            held = set(range(first, first + row["length"]))
            assert held <= left[row["cluster"]], f"twice, or never written: {row}"
            left[row["cluster"]] -= held
        return left


def run(installation: Installation, job: str, *options: str) -> Job:
    """Run a job until it ends, which has to be well."""
    ended = installation.run(job, *options)
    assert ended.exit_code == 0, ended.output()[-4000:]
    return ended
