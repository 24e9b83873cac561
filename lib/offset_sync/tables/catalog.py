"""The Delta tables, and last those of report_status and cutover: the contract with all their readers."""

from __future__ import annotations

from offset_sync.tables.definition import Table, columns

BEGINS = -1
"""The origin_start of the row that says from where a micro-batch has read a partition."""
AT_MOST, NOT_BEFORE = "target", "source"
"""Values of ``bound`` in ``record_runs``, where a record's identity is only known by bounds."""
RECREATED, TRUNCATED = "TOPIC_RECREATED", "LOG_TRUNCATED"
READ_AGAIN, ARRIVED, ELECTED, WRITTEN, COPIED = "READ_AGAIN", "ARRIVED", "ELECTED", "WRITTEN", "COPIED"
"""Reasons of rows of ``log_incarnations``; of all seven the first two begin an incarnation."""
ALIGNED, NOT_INDEXED, AMBIGUOUS, ALTERED = "ALIGNED", "NOT_INDEXED", "AMBIGUOUS", "MIRROR_ALTERS_RECORDS"
"""More of them, of copies that are recognised by contents: whether they can be, the newest counts."""
DOUBTS = (ALIGNED, NOT_INDEXED, AMBIGUOUS, ALTERED)
RECORD_RUNS = Table(
    "record_runs",
    "Runs: stretches of a log in which offset and origin offset grow together. A row of length 0 is no run: a "
    "micro-batch has read from start_offset on (origin_start -1), or up to there.",
    columns(
        "cluster | string | cluster of this log",
        "topic | string | topic",
        "partition | int | partition",
        "start_offset | bigint | offset of the run's first record",
        "length | bigint | records in the run",
        "origin | string | cluster where the records were produced; empty: unreadable headers",
        "origin_start | bigint | offset of the first record at its origin",
        "min_timestamp | timestamp | smallest timestamp of its records",
        "max_timestamp | timestamp | largest timestamp of its records",
        "indexed_at | timestamp | when it was indexed",
        "complete_until | timestamp | where origin_start is -1: everything in the log at this time is indexed; null: "
        "unknown",
        "bound | string | null: exact; target: the originals are at most origin_start and so on, and count only with "
        "this log as target; source: no record, but originals from origin_start on may be as late as start_offset "
        "and so on",
    ),
    is_cut=True,
    later=("complete_until", "bound"),
)
RECORD_FINGERPRINTS = Table(
    "record_fingerprints",
    "Hashes of records, where the mirror stamps no headers, for as long as the mirror may re-send them. A row is a "
    "stretch of a log; the rows of a micro-batch have no gap.",
    columns(
        "cluster | string | cluster of this log",
        "topic | string | topic",
        "partition | int | partition",
        "start_offset | bigint | first offset of the stretch",
        "length | bigint | offsets in it",
        "offsets | binary | offsets of the records, 8 bytes each, little-endian; null: every offset has one",
        "fingerprints | binary | hashes of the records, likewise",
        "read_at | timestamp | when it was read",
        "complete_until | timestamp | everything in the log at this time is read up to here; null: unknown",
    ),
    is_cut=True,
)
INDEXED_TOPICS = Table(
    "indexed_topics",
    "Every incarnation of a topic and its partition counts; that of __consumer_offsets decides the order of commits.",
    columns(
        "cluster | string | cluster of the topic",
        "topic | string | topic",
        "topic_id | string | Kafka's id of this incarnation; empty: the topic was deleted before we could ask",
        "partitions | int | partitions when it was seen",
        "seen_at | timestamp | when it was first seen with this id and so many partitions",
    ),
)
LOG_INCARNATIONS = Table(
    "log_incarnations",
    "Recreations and truncations of logs, __consumer_offsets too: from begins_at on they have other records at the "
    "same offsets. Also changes of the leader epoch. A row is written before the first run or commit after it.",
    columns(
        "cluster | string | cluster of this log",
        "topic | string | topic",
        "partition | int | partition",
        "topic_id | string | Kafka's id of the topic",
        "leader_epoch | int | newest leader epoch; null: the broker named none",
        "begins_at | bigint | first offset with other records than before; with ARRIVED, ELECTED and WRITTEN: end of "
        "the log, of the previous leaders' records, of the original",
        "reason | string | TOPIC_RECREATED, LOG_TRUNCATED; READ_AGAIN: read again since; ARRIVED: from begins_at on "
        "no copy is of an earlier incarnation of its origin's log; WRITTEN: a copy byte for byte had records that "
        "its original did not have; COPIED: indexed as such a copy; ELECTED or null: the log goes on. Of copies "
        "matched by contents the newest of ALIGNED and, withheld, AMBIGUOUS, MIRROR_ALTERS_RECORDS, NOT_INDEXED "
        "counts",
        "noticed_at | timestamp | when this was noticed; rows of this log indexed or captured later belong to this "
        "incarnation",
    ),
    is_cut=True,
)
OFFSET_COMMITS = Table(
    "offset_commits",
    "Every commit record read from __consumer_offsets of every cluster: the offset history.",
    columns(
        "cluster | string | cluster of the commit",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "committed_offset | bigint | next offset to read; null for a tombstone",
        "leader_epoch | int | leader epoch that the consumer sent; null: none",
        "metadata | string | free text of the client",
        "topic_id | string | topic id that the broker stored; null: none",
        "committed_at | timestamp | when, by the coordinator's clock",
        "expires_at | timestamp | when it expires, if an old client said so; null otherwise",
        "is_tombstone | boolean | the offset was deleted or has expired",
        "is_own | boolean | Offset Sync wrote it",
        "log_partition | int | partition of __consumer_offsets",
        "log_offset | bigint | offset in that partition",
        "captured_at | timestamp | when Offset Sync read it; after every incarnation of its log known then",
        "made_at | timestamp | committed_at by the clock of sync_offsets, captured_at at most; null in rows of "
        "earlier versions",
    ),
    later=("made_at",),
)
GROUP_EVENTS = Table(
    "group_events",
    "Group metadata records: who is active where.",
    columns(
        "cluster | string | cluster of the group",
        "group_id | string | consumer group",
        "kind | string | classic; epoch and member (KIP-848); streams and streams_member (KIP-1071); share and "
        "share_member (KIP-932); or their *_removed",
        "generation | int | generation or group epoch; null: none in the record",
        "members | int | members of a classic group; null otherwise",
        "at | timestamp | timestamp of the record",
        "member_id | string | member of a consumer, streams or share group; null in rows of groups",
        "log_partition | int | partition of __consumer_offsets",
        "log_offset | bigint | offset in that partition",
        "captured_at | timestamp | when Offset Sync read it; after every incarnation of its log known then",
    ),
    later=("member_id", "log_partition", "log_offset", "captured_at"),
)
OFFSET_TRANSLATIONS = Table(
    "offset_translations",
    "Every answer and its outcome.",
    columns(
        "source_cluster | string | where the group committed",
        "target_cluster | string | where we commit",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "source_offset | bigint | the commit at the source",
        "source_committed_at | timestamp | when it was made",
        "target_offset | bigint | the translation; null when withheld",
        "previous_target_offset | bigint | the offset at the target before; null: none",
        "strategy | string | exact, header, timestamp or identity",
        "state | string | EXACT, AT_FRONTIER, INDEX_BEHIND, APPROXIMATE, REWIND, or the reason to withhold",
        "duplicates | bigint | records that the group would read again if moved now",
        "duplicates_at_most | bigint | the same, with those that it may have read",
        "lost | bigint | unread records that the target has deleted and the source has not",
        "timestamp_disordered | boolean | a larger timestamp came before the commit (strategy timestamp)",
        "outcome | string | COMMITTED, UNCHANGED, NOT_FORWARD, TARGET_ACTIVE, FAILED, DRY_RUN or WITHHELD",
        "error | string | the target's error, or why it was not asked",
        "batch_id | bigint | micro-batch of the source's query; null: the reconcile pass",
        "translated_at | timestamp | when the answer was computed",
        "committed_at | timestamp | when the target acknowledged it; null: not written",
        "stream | string | name of the topic with all its copies; null in rows of earlier versions: topic",
        "target_topic | string | name of the topic at the target; null: none, or topic where stream is null",
        "skipped | bigint | records above the answer on the group's read list; null: no list, or an earlier version",
    ),
    later=("stream", "target_topic", "skipped"),
)
QUARANTINE = Table(
    "quarantine",
    "Records that could not be decoded, kept whole so that they can be replayed.",
    columns(
        "cluster | string | cluster of the record",
        "topic | string | topic",
        "partition | int | partition",
        "offset | bigint | offset",
        "key | binary | the record's key; for a mirrored record its origin header",
        "value | binary | the record's value; for a mirrored record its offset header",
        "error | string | why it could not be decoded; in a second row 'replayed: …', once it could",
        "seen_at | timestamp | when Offset Sync read it",
    ),
)
DRIVERS = Table(
    "drivers",
    "Start and end of each driver of a job. The greatest epoch of a job holds it; drivers with a smaller one write "
    "nothing.",
    columns(
        "job | string | index_records, sync_offsets, maintain_tables or cutover",
        "group_id | string | consumer group that a cutover moves; null: the whole job",
        "epoch | bigint | one more than that of the job's previous claim",
        "driver_id | string | one start of a job",
        "host | string | its machine",
        "pid | int | its process there",
        "claimed_at | timestamp | when it started, by its own clock",
        "ended_at | timestamp | when it ended; null in the row of its start",
    ),
)
LAST_KNOWN = Table(
    "last_known",
    "The last commits of each cluster and key and the last answer of each pair and key, read at a start. Follows "
    "from offset_commits and offset_translations, and is rebuilt from them where it does not fit.",
    columns(
        "cluster | string | where the group committed",
        "target_cluster | string | where we commit; null: a row of commits, without an answer",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "log_partition | bigint | of the last valid commit: partition of __consumer_offsets",
        "log_offset | bigint | its offset there",
        "actual_offset | bigint | its committed offset",
        "actual_at_ms | bigint | its time by the coordinator's clock; all such columns in ms",
        "actual_made_ms | bigint | its time by the clock of sync_offsets",
        "actual_epoch | bigint | its leader epoch",
        "last_offset | bigint | the last position of any writer, tombstones left out",
        "genuine_offset | bigint | the group's own last commit",
        "genuine_at_ms | bigint | its time by the coordinator's clock",
        "genuine_made_ms | bigint | its time by the clock of sync_offsets",
        "genuine_epoch | bigint | its leader epoch",
        "rewound_ms | bigint | when the group went back last",
        "captured_ms | bigint | when a commit was captured last",
        "first_ms | bigint | when the group committed first",
        "actual_is_own | boolean | Offset Sync wrote the last commit",
        "is_deleted | boolean | the offset was deleted or has expired",
        "topic_id | string | topic id of the last commit",
        "own_offset | bigint | our last write at the target",
        "own_at | timestamp | when we wrote it",
        "source_offset | bigint | from here on the last answer, as in offset_translations",
        "source_committed_at | timestamp | likewise",
        "target_offset | bigint | likewise",
        "state | string | likewise",
        "outcome | string | likewise",
        "duplicates | bigint | likewise",
        "duplicates_at_most | bigint | likewise",
        "lost | bigint | likewise",
        "translated_at | timestamp | likewise",
        "stream | string | likewise",
        "target_topic | string | likewise",
        "stands_on | string | what the rows follow from, the same in each, as JSON: versions of both tables, "
        "incarnations of logs, clusters and names",
    ),
    is_replaced=True,
)
TABLES = (
    RECORD_RUNS,
    RECORD_FINGERPRINTS,
    INDEXED_TOPICS,
    LOG_INCARNATIONS,
    OFFSET_COMMITS,
    GROUP_EVENTS,
    OFFSET_TRANSLATIONS,
    QUARANTINE,
    DRIVERS,
    LAST_KNOWN,
)
SYNC_STATUS = Table(
    "sync_status",
    "The status of every partition of a group between two clusters: the newest report. Older ones by time travel.",
    columns(
        "reported_at | timestamp | when the report was made",
        "source_cluster | string | where the group last committed",
        "target_cluster | string | where it could be moved",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "status | string | InSync, Mirroring, Behind, Stalled, Withheld or TargetActive",
        "reason | string | why it is not InSync: with Withheld a state of offset_translations, or of "
        "COMMITTED_AT_BOTH both commits",
        "state | string | of the translation, as in offset_translations",
        "source_offset | bigint | the group's commit at the source",
        "source_committed_at | timestamp | when it was made",
        "wanted_offset | bigint | its translation; null when withheld",
        "target_offset | bigint | the offset at the target; null: none",
        "source_end | bigint | log end at the source; null: no answer",
        "target_end | bigint | log end at the target; null: no answer",
        "source_lag | bigint | source_end - source_offset, at least 0",
        "target_lag | bigint | target_end - target_offset, at least 0",
        "duplicates | bigint | records that the group would read again if moved now; null: unknown",
        "duplicates_at_most | bigint | the same, with those that it may have read",
        "lost | bigint | unread records that the group would never see if moved now and the source never came back",
        "not_mirrored | bigint | those of them not at the target yet",
        "mirror_lag | bigint | records at the source, read or not, that are not at the target yet",
        "mirror_lag_ms | bigint | age of the oldest of them",
        'mirror_lag_by_origin | string | the same per origin, as JSON: {"dc1": 12}',
        "mirror_gaps | bigint | records at the target missing at the source, which has later ones of their origin",
        'origin_share | string | share of each origin in the newest records, as JSON: {"dc1": 0.5, "dc2": 0.5}',
        "staleness_ms | bigint | for how long the target has not had the commit's translation; 0: it has",
        "is_target_active | boolean | the group has members at the target; null: unknown",
        "stream | string | name of the topic with all its copies; null in rows of earlier versions: topic",
        "target_topic | string | name of the topic at the target; null: none, or topic where stream is null",
        "mirror_maker_offset | bigint | offset at the target by MirrorMaker's newest checkpoint; null here and "
        "below: none, not readable, or an earlier version",
        "mirror_maker_behind | bigint | records that the group would read again there, beyond those at "
        "wanted_offset; null also: unknown",
        "mirror_maker_lost | bigint | unread records of the target that the group would never see there",
        "mirror_maker_doubt | string | with COMMITTED_AT_BOTH: the cluster where MirrorMaker's group sync wrote the "
        "commit; null: none",
        "elsewhere | string | third clusters with the group's newest commits of other partitions, so that it cannot "
        "be moved as a whole; null: none",
        "uncommitted | string | partitions of the topic without an offset of the group at either cluster, as 1, 4-7: "
        "after a move auto.offset.reset decides there; null: none",
        "listed | bigint | those of duplicates on the group's read list; null: no list, or an earlier version",
    ),
    is_replaced=True,
    later=(
        "stream",
        "target_topic",
        "mirror_maker_offset",
        "mirror_maker_behind",
        "mirror_maker_lost",
        "mirror_maker_doubt",
        "elsewhere",
        "uncommitted",
        "listed",
    ),
)
SYNC_DRIFT = Table(
    "sync_drift",
    "f - g: offsets of a group at the source minus those at the target; near constant while the sync works.",
    columns(
        "at | timestamp | when it was taken",
        "source_cluster | string | where the group last committed",
        "target_cluster | string | where it is translated to",
        "group_id | string | consumer group; null: all groups of the pair",
        "partitions | int | partitions committed at both clusters, which count",
        "source_offsets | bigint | f: sum of the offsets at the source",
        "target_offsets | bigint | g: sum of the offsets at the target",
        "drift | bigint | f - g",
        "change | bigint | change of drift since the previous row; 0 in the first",
        "windowed_change | bigint | change of drift over status.drift_window",
        "is_converged | boolean | windowed_change is within the threshold (status.drift_threshold)",
    ),
)
CUTOVERS = Table(
    "cutovers",
    "Every step of every move of a group.",
    columns(
        "cutover_id | string | one call of the command",
        "at | timestamp | when the step ended",
        "who | string | user and host",
        "mode | string | planned or disaster",
        "step | string | plan, check, wait, translate, commit, read_back, home (from now on the group reads this "
        "stream at the target), verify or rehearse (nothing is moved)",
        "result | string | done, refused or failed; of home also noticed, a row of sync_offsets: it noticed the move "
        "at this time of its own clock",
        "source_cluster | string | where the group is moved from",
        "target_cluster | string | where it is moved to",
        "group_id | string | consumer group",
        "topic | string | topic; null: the whole group",
        "partition | int | partition; null likewise",
        "source_offset | bigint | the group's commit at the source",
        "target_offset | bigint | what was, or would be, committed at the target",
        "duplicates | bigint | records it will read again; of rehearse: counted on the records themselves",
        "lost | bigint | unread records it will never see; of rehearse likewise",
        "detail | string | why it was refused or failed; what is lost, per origin",
        "stream | string | name of the topic with all its copies; null without a topic, and in rows of earlier "
        "versions: topic",
        "target_topic | string | name of the topic at the target; null: none, or topic where stream is null",
        "skipped | bigint | records on its read list; null: moved without --skip-read, or an earlier version",
    ),
    later=("stream", "target_topic", "skipped"),
)
REPORT_TABLES = (SYNC_STATUS, SYNC_DRIFT, CUTOVERS)
ALL_TABLES = (*TABLES, *REPORT_TABLES)
