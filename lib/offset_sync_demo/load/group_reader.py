"""Consumer groups as an application would run them; they keep all that they have read and committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from offset_sync_demo.kafka.clients import Endpoint, Partition, Received
from offset_sync_demo.load.group_member import CommitMade, GroupMember, ReaderOptions
from offset_sync_demo.load.records import RecordLog, Records, log_of, value_id


class GroupReader:
    """One consumer group at one cluster: *members* real consumers, each in a thread, in read_committed.

    It reads until it is stopped; ``stop(kill=True)`` commits nothing more, as after a crash: records read after the
    last commit will be read again by the group's next members.
    """

    def __init__(
        self,
        cluster: Endpoint,
        group_id: str,
        topics: Sequence[str],
        options: ReaderOptions | None = None,
        *,
        members: int = 1,
    ) -> None:
        self.group_id, self.alias = group_id, cluster.alias
        self._options = options or ReaderOptions()
        self._lock = threading.Lock()
        self._logs: dict[Partition, RecordLog] = {}
        self._reached: dict[Partition, int] = {}
        self._commits: list[CommitMade] = []
        self._errors: list[str] = []
        self.members = [GroupMember(cluster, group_id, topics, self._options, self) for _ in range(members)]

    def start(self) -> None:
        """Start the members, which join the group."""
        for member in self.members:
            member.start()

    def stop(self, *, kill: bool = False, timeout: float = 15.0) -> None:
        """Leave the group, after a final commit unless *kill*; see :func:`stop_readers` for a dead broker."""
        stop_readers([self], kill=kill, timeout=timeout)

    def records(self) -> dict[Partition, Records]:
        """Return every record read so far, in the order of reading."""
        with self._lock:
            return {place: log.to_records() for place, log in self._logs.items()}

    def commits(self) -> list[CommitMade]:
        """Return every commit acknowledged so far, oldest first."""
        with self._lock:
            return list(self._commits)

    def last_commits(self) -> dict[Partition, CommitMade]:
        """Return the newest acknowledged commit of each partition."""
        return {commit.partition: commit for commit in self.commits()}

    def errors(self) -> list[str]:
        """Return the consumers' errors, such as a missing offset with ``reset`` "error"."""
        with self._lock:
            return list(self._errors)

    def count(self) -> int:
        """Return how many records were read so far."""
        with self._lock:
            return sum(len(log) for log in self._logs.values())

    def reached(self) -> dict[Partition, int]:
        """Return the offset up to which each partition was read, including transaction markers at its end."""
        with self._lock:
            return dict(self._reached)

    def wait_until(self, ends: Mapping[Partition, int], timeout: float = 30.0) -> None:
        """Return when each partition is read to its end in *ends*; the TimeoutError names those that are not."""
        deadline = time.monotonic() + timeout
        while True:
            reached = self.reached()
            behind = {place: (reached.get(place, 0), end) for place, end in ends.items() if reached.get(place, 0) < end}
            if not behind:
                return
            if time.monotonic() > deadline:
                place = f"{self.group_id} at {self.alias}"
                raise TimeoutError(f"{place} is behind (at, end): {behind} {self.errors()[-3:]}")
            time.sleep(0.05)

    # Called by the members.

    def keep_records(self, messages: Sequence[Received]) -> None:
        """Keep records that a member has just read."""
        with self._lock:
            for message in messages:
                place, offset = (message.topic(), message.partition()), message.offset()
                log_of(self._logs, place).add(value_id(message.value() or b""), offset, message.timestamp()[1])
                self._reached[place] = max(offset + 1, self._reached.get(place, 0))

    def keep_end(self, partition: Partition, offset: int) -> None:
        """Keep that a member has reached the end of a partition."""
        with self._lock:
            self._reached[partition] = max(offset, self._reached.get(partition, 0))

    def keep_commits(self, commits: Sequence[CommitMade]) -> None:
        """Keep commits that the coordinator has acknowledged."""
        with self._lock:
            self._commits.extend(commits)

    def keep_error(self, text: str) -> None:
        """Keep an error; at most the first thousand."""
        with self._lock:
            if len(self._errors) < 1000:
                self._errors.append(text)


def stop_readers(readers: Sequence[GroupReader], *, kill: bool = False, timeout: float = 15.0) -> None:
    """Stop all at the same time; returns after *timeout* seconds at the latest.

    If the broker is down, librdkafka may take 15 s and more to leave the group. That continues in the background:
    nothing more is read, and nothing more is committed unless the broker comes back.
    """
    members = [member for reader in readers for member in reader.members]
    for member in members:
        member.ask_to_stop(kill=kill)
    deadline = time.monotonic() + timeout
    for member in members:
        member.join(max(0.0, deadline - time.monotonic()))
