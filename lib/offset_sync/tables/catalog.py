"""The Delta tables, and last those of report_status and cutover: the contract with all their readers."""

from __future__ import annotations

from offset_sync.tables.definition import Table, columns

BEGINS = -1
"""The origin_start of the row that says from where a micro-batch has read a partition."""
RECREATED, TRUNCATED = "TOPIC_RECREATED", "LOG_TRUNCATED"
READ_AGAIN, ARRIVED, ELECTED = "READ_AGAIN", "ARRIVED", "ELECTED"
"""Reasons of rows of ``log_incarnations``; of all five the first two begin an incarnation."""
RECORD_RUNS = Table(
    "record_runs",
    "Runs: stretches of a log in which offset and origin offset grow together. Length 0: read from start_offset on "
    "(origin_start -1), or up to there.",
    columns(
        "cluster | string | its alias",
        "topic | string | its name there, or at the source",
        "partition | int | partition",
        "start_offset | bigint | offset of the run's first record",
        "length | bigint | records in the run; below 0: so many copies a truncation has taken from there on",
        "origin | string | where the records were produced; empty: unknown",
        "origin_start | bigint | offset of the first record at its origin",
        "min_timestamp | timestamp | smallest timestamp of its records",
        "max_timestamp | timestamp | largest timestamp of its records",
        "indexed_at | timestamp | when it was indexed",
        "complete_until | timestamp | where origin_start is -1: all that the log held then is indexed; null: unknown",
    ),
    is_cut=True,
)
INDEXED_TOPICS = Table(
    "indexed_topics",
    "Incarnations of topics with their partition counts; that of __consumer_offsets decides the order of commits.",
    columns(
        "cluster | string | its alias",
        "topic | string | its name there, or at the source",
        "topic_id | string | Kafka's id of it",
        "partitions | int | how many",
        "seen_at | timestamp | when it was first so",
    ),
)
LOG_INCARNATIONS = Table(
    "log_incarnations",
    "Recreations and truncations of logs, __consumer_offsets too, written before the first run or commit after it; "
    "changes of the leader epoch.",
    columns(
        "cluster | string | its alias",
        "topic | string | its name there, or at the source",
        "partition | int | partition",
        "topic_id | string | Kafka's id of it; empty: deleted before we could ask",
        "leader_epoch | int | newest leader epoch; null: the broker named none",
        "begins_at | bigint | first offset with other records; with ARRIVED and ELECTED: end of the log",
        "reason | string | TOPIC_RECREATED, LOG_TRUNCATED; READ_AGAIN: record_runs is cut, and read again up to "
        "begins_at (null: all); ARRIVED: no copy from begins_at on is of an earlier incarnation of its origin; ELECTED "
        "or null: the log goes on",
        "noticed_at | timestamp | rows of this log captured later belong to this incarnation",
    ),
    is_cut=True,
)
OFFSET_COMMITS = Table(
    "offset_commits",
    "Every commit record of __consumer_offsets of every cluster: the offset history.",
    columns(
        "cluster | string | its alias",
        "group_id | string | consumer group",
        "topic | string | its name there, or at the source",
        "partition | int | partition",
        "committed_offset | bigint | next offset to read; null for a tombstone",
        "leader_epoch | int | as the consumer sent it; null: none",
        "metadata | string | the client's text",
        "topic_id | string | as the broker stored it; null: none",
        "committed_at | timestamp | by the coordinator's clock",
        "expires_at | timestamp | if an old client gave it",
        "is_tombstone | boolean | the offset was deleted or has expired",
        "is_own | boolean | Offset Sync wrote it",
        "log_partition | int | of __consumer_offsets; -2: polled from the coordinator; "
        "-3 - p: not in partition p, asked for",
        "log_offset | bigint | offset there; of polled commits the time of the poll, in ms",
        "captured_at | timestamp | when we read it",
        "made_at | timestamp | committed_at by the clock of sync_offsets, captured_at at most",
        "captured_by | string | admin: asked for, so committed_at is the time of the poll; null: read from the log",
        "not_before | timestamp | of a polled commit: when its group answered without it; null: unknown",
    ),
)
GROUP_EVENTS = Table(
    "group_events",
    "Group metadata records: who is active where.",
    columns(
        "cluster | string | its alias",
        "group_id | string | consumer group",
        "kind | string | classic; epoch, member (KIP-848); or their *_removed",
        "generation | int | generation or group epoch; null: none",
        "members | int | of a classic group",
        "at | timestamp | timestamp of the record",
        "member_id | string | of a consumer group; null in rows of groups",
        "log_partition | int | of __consumer_offsets",
        "log_offset | bigint | offset there",
        "captured_at | timestamp | when we read it",
    ),
)
OFFSET_TRANSLATIONS = Table(
    "offset_translations",
    "Every answer and its outcome.",
    columns(
        "source_cluster | string | where the group committed",
        "target_cluster | string | where the offset is translated to",
        "group_id | string | consumer group",
        "topic | string | its name there, or at the source",
        "partition | int | partition",
        "source_offset | bigint | the commit at the source",
        "source_committed_at | timestamp | when it was made",
        "target_offset | bigint | the translation; null when withheld",
        "previous_target_offset | bigint | offset at the target before; null: none",
        "strategy | string | exact, header or timestamp",
        "state | string | EXACT, AT_FRONTIER, INDEX_BEHIND, APPROXIMATE, REWIND, or the reason to withhold",
        "duplicates | bigint | records repeated if moved then; null: unknown",
        "duplicates_at_most | bigint | with those that it may have read",
        "lost | bigint | unread records deleted at the target and not at the source",
        "timestamp_disordered | boolean | strategy timestamp: a larger one came before the commit",
        "outcome | string | COMMITTED, UNCHANGED, NOT_FORWARD, TARGET_ACTIVE, FAILED, DRY_RUN, WITHHELD or GONE",
        "error | string | the target's error, or why not asked",
        "batch_id | bigint | micro-batch of the source's query; null: the reconcile pass",
        "translated_at | timestamp | when the answer was computed",
        "committed_at | timestamp | when acknowledged; null: not written",
        "stream | string | the topic with all its copies",
        "target_topic | string | its name at the target; null: none",
        "skipped | bigint | records on the group's read list; null: no list",
        "members | string | clusters where the group has members, as dc1, dc2?; ?: not known",
        "contest | string | clusters that commit it at the same time, as dc1, dc2; null: it has a home",
    ),
)
QUARANTINE = Table(
    "quarantine",
    "Records that could not be decoded, kept whole.",
    columns(
        "cluster | string | its alias",
        "topic | string | its name there, or at the source",
        "partition | int | partition",
        "offset | bigint | offset",
        "key | binary | its key; of a mirrored record the origin header",
        "value | binary | its value; of a mirrored record the offset header",
        "error | string | why",
        "seen_at | timestamp | when we read it",
    ),
)
DRIVERS = Table(
    "drivers",
    "Start and end of each driver. The greatest epoch of a job holds it.",
    columns(
        "job | string | index_records, sync_offsets, maintain_tables or cutover",
        "group_id | string | group that a cutover moves; null: the whole job",
        "epoch | bigint | the previous claim's + 1",
        "driver_id | string | one start of a job",
        "host | string | its machine",
        "pid | int | its process there",
        "claimed_at | timestamp | by its own clock",
        "ended_at | timestamp | null in the row of its start",
    ),
)
LAST_KNOWN = Table(
    "last_known",
    "The last commits of each cluster and key and the last answer of each pair and key, read at a start. Derived from "
    "offset_commits and offset_translations, and rebuilt where it does not fit.",
    columns(
        "cluster | string | where the group committed",
        "target_cluster | string | where we commit; null: no answer, only commits",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "log_partition | bigint | of the last valid commit: partition of __consumer_offsets",
        "log_offset | bigint | its offset there",
        "actual_offset | bigint | its committed offset",
        "actual_at_ms | bigint | its time by the coordinator's clock, in ms like all such columns",
        "actual_made_ms | bigint | its time by the clock of sync_offsets",
        "actual_epoch | bigint | its leader epoch",
        "last_offset | bigint | the last of any writer, without tombstones",
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
        "source_offset | bigint | here and below: the last answer, as in offset_translations",
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
        "previous_target_offset | bigint | likewise",
        "error | string | likewise",
        "skipped | bigint | likewise",
        "members | string | likewise",
        "contest | string | likewise",
        "stands_on | string | what all rows are derived from, as JSON: versions of both tables, incarnations of logs, "
        "clusters, names",
    ),
    is_replaced=True,
)
TABLES = (
    RECORD_RUNS,
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
    "The status of every partition of a group between two clusters: the newest report; older ones by time travel.",
    columns(
        "reported_at | timestamp | when the report was made",
        "source_cluster | string | where the group committed",
        "target_cluster | string | where the offset is translated to",
        "group_id | string | consumer group",
        "topic | string | its name there, or at the source",
        "partition | int | partition",
        "status | string | InSync, Mirroring, Behind, Stalled, Withheld or TargetActive",
        "reason | string | why not InSync; with Withheld: its reason",
        "state | string | EXACT, AT_FRONTIER, INDEX_BEHIND, APPROXIMATE, REWIND, or the reason to withhold",
        "source_offset | bigint | the commit at the source",
        "source_committed_at | timestamp | when it was made",
        "wanted_offset | bigint | its translation; null when withheld",
        "target_offset | bigint | offset at the target; null: none",
        "source_end | bigint | log end; null: no answer",
        "target_end | bigint | log end; null: no answer",
        "source_lag | bigint | source_end - source_offset, at least 0",
        "target_lag | bigint | target_end - target_offset, at least 0",
        "duplicates | bigint | records repeated if moved then; null: unknown",
        "duplicates_at_most | bigint | with those that it may have read",
        "lost | bigint | unread records never seen if moved then and the source never came back",
        "not_mirrored | bigint | those of lost that are not at the target yet",
        "mirror_lag | bigint | records of the source, read or not, not at the target yet",
        "mirror_lag_ms | bigint | age of the oldest of them",
        'origin_share | string | of the newest records, as JSON: {"dc1": 0.5, "dc2": 0.5}',
        "staleness_ms | bigint | how long the target has not had the translation; 0: it has",
        "is_target_active | boolean | the group has members at the target; null: unknown",
        "stream | string | the topic with all its copies",
        "target_topic | string | its name at the target; null: none",
        "elsewhere | string | third clusters with the newest commits of other partitions; null: none",
        "uncommitted | string | partitions without an offset at either cluster, as 1, 4-7; null: none",
        "listed | bigint | duplicates on the read list; null: no list",
    ),
    is_replaced=True,
)
SYNC_DRIFT = Table(
    "sync_drift",
    "f - g: a group's offsets at the source minus those at the target; near constant while the sync works.",
    columns(
        "at | timestamp | when it was taken",
        "source_cluster | string | where the group committed",
        "target_cluster | string | where the offset is translated to",
        "group_id | string | null: all groups of the pair",
        "partitions | int | committed at both clusters",
        "source_offsets | bigint | f: their sum",
        "target_offsets | bigint | g: their sum",
        "drift | bigint | f - g",
        "change | bigint | since the previous row; 0 in the first",
        "windowed_change | bigint | over ten minutes",
        "is_converged | boolean | windowed_change is within 1,000 records for each group",
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
        "step | string | plan, check, wait, translate, commit, read_back, home (the group now reads this stream at the "
        "target), verify or rehearse (nothing is moved)",
        "result | string | done, refused or failed; of commit also begun: it is about to be sent; of home also "
        "noticed: when sync_offsets noticed the move, by its own clock",
        "source_cluster | string | moved from",
        "target_cluster | string | moved to",
        "group_id | string | consumer group",
        "topic | string | null: the whole group",
        "partition | int | likewise",
        "source_offset | bigint | the commit at the source",
        "target_offset | bigint | what is, or would be, committed",
        "duplicates | bigint | records repeated; of rehearse: counted on the records themselves",
        "lost | bigint | unread records never seen; of rehearse likewise",
        "detail | string | why it was refused or failed; what was rehearsed",
        "stream | string | the topic with all its copies",
        "target_topic | string | its name at the target; null: none",
        "skipped | bigint | records on the group's read list; null: no list",
    ),
)
REPORT_TABLES = (SYNC_STATUS, SYNC_DRIFT, CUTOVERS)
ALL_TABLES = (*TABLES, *REPORT_TABLES)
