"""Twin groups: what one commits at the source the other commits in the same batch; each is synced by another tool."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from mirrormaker_judge import GROUPS, Answers, Commit
from mirrormaker_properties import SOURCE, TARGET

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import TransientError
from offset_sync.model.errors import ClusterError, OffsetSyncError
from offset_sync.model.values import OffsetWrite, TopicPartition
from offset_sync_demo.kafka.clients import Endpoint, Partition

MM2, OURS = "mm2", "ours"
_STOPS_AT_SHARE = 0.5
_PATIENCE_S = 60.0


class TwinGroups:
    """Six groups that commit all partitions at the source, without members, and their offsets at the target."""

    def __init__(
        self, run: str, clusters: Mapping[str, Endpoint], partitions: Sequence[Partition], prefix: str
    ) -> None:
        """*partitions* are those at the source; *prefix* is that of the names of their topics' copies."""
        self._run = run
        self._admins = {
            alias: ClusterAdmin(alias, {"bootstrap.servers": clusters[alias].bootstrap_servers})
            for alias in (SOURCE, TARGET)
        }
        self.partitions = list(partitions)
        self._prefix = prefix
        self.commits: dict[tuple[str, Partition], list[Commit]] = {}

    def commit(self, *, lagging_moves: bool) -> None:
        """Commit where the groups are now: at the end, at half of it, and there too, but only when *lagging_moves*."""
        ends = self.ends(SOURCE)
        kinds = [kind for kind in GROUPS if kind != "lagging" or lagging_moves]
        wanted = {
            (kind, place): end if kind == "tail" else int(end * _STOPS_AT_SHARE)
            for kind in kinds
            for place, end in ends.items()
        }
        batch = {
            group: [OffsetWrite(group, *place, wanted[kind, place], None, None) for place in ends]
            for twin in (MM2, OURS)
            for group, kind in self.ids(twin).items()
            if kind in kinds
        }
        self._write(batch)
        at_s = time.monotonic()
        for key, offset in wanted.items():
            self.commits.setdefault(key, []).append(Commit(at_s, offset))

    def ids(self, twin: str) -> dict[str, str]:
        """Return the kind of each group that belongs to one of the two, by group id."""
        return {f"{kind}-{self._run}-{twin}": kind for kind in GROUPS}

    def copy_of(self, place: Partition) -> Partition:
        """Return what a partition is called at the target."""
        return (f"{self._prefix}{place[0]}", place[1])

    def ends(self, alias: str) -> dict[Partition, int]:
        """Return the log end of each partition, by its name at the source; waits for partitions without a leader.

        Raises OffsetSyncError when there is none for a minute.
        """
        names = {
            place: TopicPartition(*(self.copy_of(place) if alias == TARGET else place)) for place in self.partitions
        }
        ends_at = time.monotonic() + _PATIENCE_S
        while (found := self._admins[alias].ends(list(names.values()))).keys() != set(names.values()):
            if time.monotonic() > ends_at:
                raise OffsetSyncError(
                    f"{alias}: no leader for {', '.join(map(str, set(names.values()) - found.keys()))}"
                )
            time.sleep(0.2)
        return {place: found[name].log_end for place, name in names.items()}

    def ask(self, seconds: int) -> Answers:
        """Return the offsets of all groups at the target, asked at once; partitions by their names at the source."""
        originals = {self.copy_of(place): place for place in self.partitions}
        names = [*self.ids(MM2), *self.ids(OURS)]
        positions: dict[tuple[str, Partition], int] = {}
        ends_at = time.monotonic() + _PATIENCE_S
        while True:
            at_s = time.monotonic()
            answers = self._admins[TARGET].committed_offsets(names)
            if at_s > ends_at or not any(isinstance(found, TransientError) for found in answers.values()):
                break
        for group, found in answers.items():
            if isinstance(found, ClusterError):
                raise found
            positions |= {(group, originals[each.topic, each.partition]): there.offset for each, there in found.items()}
        return Answers(seconds, at_s, positions)

    def known_to_ours(self) -> bool:
        """Whether every group that is synced by Offset Sync has a position in every partition at the target."""
        positions = self.ask(0).positions
        return all((group, place) in positions for group in self.ids(OURS) for place in self.partitions)

    def _write(self, batch: Mapping[str, Sequence[OffsetWrite]]) -> None:
        """Commit; a coordinator that has just been made is asked again, anything else is an OffsetSyncError."""
        ends_at = time.monotonic() + _PATIENCE_S
        while True:
            answers = self._admins[SOURCE].write_offsets(batch)
            bad = {
                group: errors
                for group, errors in answers.items()
                if isinstance(errors, ClusterError) or any(errors.values())
            }
            if not bad:
                return
            if time.monotonic() > ends_at:
                raise OffsetSyncError(f"{SOURCE}: commits were refused: {bad}")
            time.sleep(0.2)
