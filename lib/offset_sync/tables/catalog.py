"""The Delta tables, and last those of report_status and cutover. The contract with everyone who reads them."""

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
    "Runs: stretches of a log in which offset and origin offset grow together. A row of length 0 is no run: it says "
    "that a micro-batch has read from start_offset on (origin_start -1), or up to there without finding a record.",
    columns(
        "cluster | string | alias of the cluster whose log this is",
        "topic | string | topic",
        "partition | int | partition",
        "start_offset | bigint | offset of the run's first record",
        "length | bigint | records in the run",
        "origin | string | alias of the cluster where the records were produced; empty: their headers are unreadable",
        "origin_start | bigint | offset of the first record at its origin",
        "min_timestamp | timestamp | smallest record timestamp in the run",
        "max_timestamp | timestamp | largest record timestamp in the run",
        "indexed_at | timestamp | when the index saw the run",
        "complete_until | timestamp | where origin_start is -1: what stood in the log at this moment is indexed; null: "
        "not known",
        "bound | string | null: the identities are known; target: they are at most origin_start and so on, and count "
        "only where this log is the target; source: no record, but originals from origin_start on may stand as late as "
        "start_offset and so on",
    ),
    is_cut=True,
    later=("complete_until", "bound"),
)
RECORD_FINGERPRINTS = Table(
    "record_fingerprints",
    "Fingerprints of records, where the mirror stamps no headers: hashes of all that a copy has of its original. A row "
    "is of a stretch of a log, of records or none; a micro-batch's rows leave nothing out. Kept for as long as the "
    "mirror may send again.",
    columns(
        "cluster | string | alias of the cluster whose log this is",
        "topic | string | topic",
        "partition | int | partition",
        "start_offset | bigint | first offset of the stretch",
        "length | bigint | offsets in it",
        "offsets | binary | those of the records, 8 bytes each, little-endian; null: each offset has one",
        "fingerprints | binary | of the records, likewise",
        "read_at | timestamp | when it was read",
        "complete_until | timestamp | what stood in the log at this moment is read up to here; null: not known",
    ),
    is_cut=True,
)
INDEXED_TOPICS = Table(
    "indexed_topics",
    "Every incarnation of a topic that was met, and every number of partitions it had. More than one topic_id for a "
    "topic: it was deleted and recreated. The partition count of __consumer_offsets decides the order of commits.",
    columns(
        "cluster | string | alias of the cluster",
        "topic | string | topic",
        "topic_id | string | Kafka's id of this incarnation; empty: it was gone before anybody could ask",
        "partitions | int | partitions when it was seen",
        "seen_at | timestamp | when it was first seen, or first with so many partitions",
    ),
)
LOG_INCARNATIONS = Table(
    "log_incarnations",
    "Incarnations of the logs that were read, __consumer_offsets too: a recreated topic and a truncated log have other "
    "records at the same offsets. A row is written before the first run or commit of an incarnation, and when a "
    "log continues under another leader epoch.",
    columns(
        "cluster | string | alias of the cluster whose log this is",
        "topic | string | topic",
        "partition | int | partition",
        "topic_id | string | Kafka's id of the topic",
        "leader_epoch | int | newest leader epoch; null when the broker named none",
        "begins_at | bigint | first offset with other records than before; where the log ended (ARRIVED), the "
        "records of the leaders before (ELECTED), or the original (WRITTEN)",
        "reason | string | TOPIC_RECREATED, LOG_TRUNCATED; READ_AGAIN: that was read since; ARRIVED: from begins_at on "
        "no copy is of an earlier life of its origin's log; WRITTEN: a copy, byte for byte, had records that its "
        "original lacked; COPIED: indexed as such a copy, whatever it holds; ELECTED or null: the log goes on; of "
        "copies told by their contents, up to the next such row: ALIGNED; AMBIGUOUS, MIRROR_ALTERS_RECORDS and "
        "NOT_INDEXED: withheld",
        "noticed_at | timestamp | when this was noticed; what was indexed or captured of this log later is of this "
        "life",
    ),
    is_cut=True,
)
OFFSET_COMMITS = Table(
    "offset_commits",
    "Every offset commit record seen in __consumer_offsets of every cluster: the offset history.",
    columns(
        "cluster | string | alias of the cluster where the commit was made",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "committed_offset | bigint | next offset to read; null for a tombstone",
        "leader_epoch | int | leader epoch the consumer knew; null when it sent none",
        "metadata | string | free text of the client",
        "topic_id | string | id of the topic's incarnation; null when the broker stored none",
        "committed_at | timestamp | the coordinator's clock at the commit",
        "expires_at | timestamp | when an old client wants it forgotten; null otherwise",
        "is_tombstone | boolean | the offset was deleted or has expired",
        "is_own | boolean | Offset Sync wrote it: it matches one of its writes",
        "log_partition | int | partition of __consumer_offsets",
        "log_offset | bigint | offset in that partition",
        "captured_at | timestamp | when Offset Sync read it; after every life of its log that was known then",
        "made_at | timestamp | committed_at by the clock of sync_offsets, and never later than captured_at; null in "
        "rows of earlier versions",
    ),
    later=("made_at",),
)
GROUP_EVENTS = Table(
    "group_events",
    "Who is active where, from the group metadata records.",
    columns(
        "cluster | string | alias of the cluster",
        "group_id | string | consumer group",
        "kind | string | classic; epoch and member (KIP-848); streams and streams_member (KIP-1071); share and "
        "share_member (KIP-932); or their *_removed",
        "generation | int | generation or group epoch; null when the record has none",
        "members | int | members of a classic group; null otherwise",
        "at | timestamp | timestamp of the record",
        "member_id | string | member of a consumer, streams or share group; null in rows of groups",
        "log_partition | int | partition of __consumer_offsets",
        "log_offset | bigint | offset in that partition",
        "captured_at | timestamp | when Offset Sync read it; after every life of its log that was known then",
    ),
    later=("member_id", "log_partition", "log_offset", "captured_at"),
)
OFFSET_TRANSLATIONS = Table(
    "offset_translations",
    "Every answer and what became of it.",
    columns(
        "source_cluster | string | where the group committed",
        "target_cluster | string | where we commit",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "source_offset | bigint | the commit at the source",
        "source_committed_at | timestamp | when it was made",
        "target_offset | bigint | the translated offset; null when withheld",
        "previous_target_offset | bigint | what stood at the target before; null: nothing",
        "strategy | string | exact, header, timestamp or identity",
        "state | string | EXACT, AT_FRONTIER, INDEX_BEHIND, REWIND, or the reason for withholding",
        "duplicates | bigint | records a failover now would read again",
        "duplicates_at_most | bigint | the same, counting what may have been read",
        "lost | bigint | unread records that the target has deleted and the source has not",
        "timestamp_disordered | boolean | a larger timestamp stood before the commit (strategy timestamp)",
        "outcome | string | COMMITTED, UNCHANGED, NOT_FORWARD, TARGET_ACTIVE, FAILED, DRY_RUN or WITHHELD",
        "error | string | what the target answered, or why nothing was asked",
        "batch_id | bigint | micro-batch of the source's query; null for the reconcile pass",
        "translated_at | timestamp | when the answer was computed",
        "committed_at | timestamp | when the target acknowledged it; null when nothing was written",
        "stream | string | what topic and its copies are called alike, with the same names topic; null in rows of "
        "earlier versions: topic",
        "target_topic | string | what it is called at the target; null: nothing there, or stream is null too: topic",
        "skipped | bigint | records above the answer on the group's read list, which consumers that go by it skip; "
        "null: it gets none, or the row is of an earlier version",
    ),
    later=("stream", "target_topic", "skipped"),
)
QUARANTINE = Table(
    "quarantine",
    "Records whose bytes could not be decoded, kept whole so that they can be replayed.",
    columns(
        "cluster | string | alias of the cluster",
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
    "The drivers of each job: a row when a driver begins, another when it ends by itself. The greatest epoch of a job "
    "holds it; a driver with a smaller one writes nothing any more.",
    columns(
        "job | string | index_records, sync_offsets, maintain_tables or cutover",
        "group_id | string | the consumer group that a cutover moves; null: the job as a whole",
        "epoch | bigint | one more than that of the claim before, by job",
        "driver_id | string | one start of a job",
        "host | string | the machine that it runs on",
        "pid | int | its process there",
        "claimed_at | timestamp | when it began, by its own clock",
        "ended_at | timestamp | when it ended; null in the row of its beginning",
    ),
)
LAST_KNOWN = Table(
    "last_known",
    "What sync_offsets and report_status begin with: the last commits of each cluster and key and the last answer of "
    "each pair and key. It follows from offset_commits and offset_translations, and is made from them where it does "
    "not fit.",
    columns(
        "cluster | string | where the group committed",
        "target_cluster | string | where we commit; null: the row is of commits, and has no answer",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "log_partition | bigint | of the last commit that stands: its partition of __consumer_offsets",
        "log_offset | bigint | and its offset there",
        "actual_offset | bigint | what it committed",
        "actual_at_ms | bigint | when, by the coordinator's clock, in ms as all times here",
        "actual_made_ms | bigint | and by that of sync_offsets",
        "actual_epoch | bigint | its leader epoch",
        "last_offset | bigint | the last position, whoever wrote it, a tombstone is none",
        "genuine_offset | bigint | what the group itself committed last",
        "genuine_at_ms | bigint | when, by the coordinator's clock",
        "genuine_made_ms | bigint | and by that of sync_offsets",
        "genuine_epoch | bigint | its leader epoch",
        "rewound_ms | bigint | when the group went back last",
        "captured_ms | bigint | when a commit was read last",
        "first_ms | bigint | when the group committed first",
        "actual_is_own | boolean | Offset Sync wrote the last commit",
        "is_deleted | boolean | the offset was deleted or has expired",
        "topic_id | string | id of the topic's incarnation in the last commit",
        "own_offset | bigint | what we wrote last at the target",
        "own_at | timestamp | when we wrote it",
        "source_offset | bigint | this and the next ones as in offset_translations: the last answer",
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
        "stands_on | string | what the rows follow from, the same in each: versions of both tables, lives of logs, "
        "clusters and names, as JSON",
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
    "The state of every group between two clusters, per partition: the newest report. Older ones by time travel.",
    columns(
        "reported_at | timestamp | when the report was made",
        "source_cluster | string | where the group committed last",
        "target_cluster | string | where it could be moved",
        "group_id | string | consumer group",
        "topic | string | topic",
        "partition | int | partition",
        "status | string | InSync, Mirroring, Behind, Stalled, Withheld or TargetActive",
        "reason | string | why it is not InSync; of Withheld a state of offset_translations, or of "
        "COMMITTED_AT_BOTH both commits",
        "state | string | how good the translation is, as in offset_translations",
        "source_offset | bigint | the group's commit at the source",
        "source_committed_at | timestamp | when it was made",
        "wanted_offset | bigint | its translation now; null when withheld",
        "target_offset | bigint | what stands at the target; null: nothing",
        "source_end | bigint | log end at the source; null when it does not answer",
        "target_end | bigint | log end at the target; null when it does not answer",
        "source_lag | bigint | records from the commit to the source's log end, by offset",
        "target_lag | bigint | records from target_offset to the target's log end, by offset",
        "duplicates | bigint | records the group would read again if moved now; null when nobody can tell",
        "duplicates_at_most | bigint | the same, counting what may have been read",
        "lost | bigint | unread records the group would never see if moved now and the source never came back",
        "not_mirrored | bigint | those of them that the target does not have yet",
        "mirror_lag | bigint | records at the source that the target does not have yet, read or not",
        "mirror_lag_ms | bigint | age of the oldest of them",
        'mirror_lag_by_origin | string | the same per origin, as JSON: {"dc1": 12}',
        "mirror_gaps | bigint | records at the target that the source lacks though it has later ones of their origin",
        'origin_share | string | share of each origin in the newest records, as JSON: {"dc1": 0.5, "dc2": 0.5}',
        "staleness_ms | bigint | for how long the target has not had the commit's translation; 0: it has",
        "is_target_active | boolean | the target's group has members; null when nobody could ask",
        "stream | string | what topic and its copies are called alike, with the same names topic; null in rows of "
        "earlier versions: topic",
        "target_topic | string | what it is called at the target; null: nothing there, or stream is null too: topic",
        "mirror_maker_offset | bigint | MirrorMaker's newest checkpoint: where its group sync would have the group at "
        "the target; null: it has none, or none could be read, or the row is of an earlier version",
        "mirror_maker_behind | bigint | records the group would read again there beside those at wanted_offset; null: "
        "nobody can tell, or no checkpoint",
        "mirror_maker_lost | bigint | unread records of the target the group would never see there; null likewise",
        "mirror_maker_doubt | string | where the state is COMMITTED_AT_BOTH, at which cluster MirrorMaker's group sync "
        "has written what is committed; null: at none",
        "elsewhere | string | third clusters that hold the group's newest commits of other partitions, so that it "
        "cannot be moved as a whole; null: none, or the row is of an earlier version",
        "uncommitted | string | partitions of the topic that have no offset of the group at either cluster, as 1, 4-7: "
        "after a move it begins there where its own options say; null: none, or the row is of an earlier version",
        "listed | bigint | records on the read list of the translation: of duplicates, consumers that go by it skip "
        "them; null: the group gets none, or the row is of an earlier version",
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
    "f(t) - g(t): offsets of a group at the source less those at the target. While the sync works it hardly changes.",
    columns(
        "at | timestamp | when it was taken",
        "source_cluster | string | where the group committed last",
        "target_cluster | string | where it is translated to",
        "group_id | string | consumer group; null: all groups of the pair",
        "partitions | int | partitions that count: committed at both clusters",
        "source_offsets | bigint | f: sum of the offsets at the source",
        "target_offsets | bigint | g: sum of the offsets at the target",
        "drift | bigint | f - g",
        "change | bigint | of the drift, since the row before; 0 in the first",
        "windowed_change | bigint | of the drift, over the window (status.drift_window)",
        "is_converged | boolean | the windowed change is within status.drift_threshold",
    ),
)
CUTOVERS = Table(
    "cutovers",
    "Every step of every move of a group: who, when, what, with what result.",
    columns(
        "cutover_id | string | one call of the command",
        "at | timestamp | when the step ended",
        "who | string | the user that ran it, with the host",
        "mode | string | planned or disaster",
        "step | string | plan, check, wait, translate, commit, read_back, home (from now on the group reads this "
        "stream at the target), verify or rehearse (nothing is moved)",
        "result | string | done, refused or failed; of a step home also noticed: sync_offsets adds that row by its own "
        "clock, where it has noticed moves at another time than the command ended them",
        "source_cluster | string | where the group is moved from",
        "target_cluster | string | where it is moved to",
        "group_id | string | consumer group",
        "topic | string | topic; null: the step is about the whole group",
        "partition | int | partition; null likewise",
        "source_offset | bigint | the group's commit at the source",
        "target_offset | bigint | what was committed, or would be, at the target",
        "duplicates | bigint | records it will read again; of rehearse: as the records that were read show it",
        "lost | bigint | unread records it will never see; of rehearse likewise",
        "detail | string | why it was refused or failed; what is lost, per origin",
        "stream | string | what topic and its copies are called alike, with the same names topic; null without a "
        "topic, and in rows of earlier versions: topic",
        "target_topic | string | what it is called at the target; null: nothing there, or stream is null too: topic",
        "skipped | bigint | records on its read list, which consumers that go by it skip; null: not moved with "
        "--skip-read, or the row is of an earlier version",
    ),
    later=("stream", "target_topic", "skipped"),
)
REPORT_TABLES = (SYNC_STATUS, SYNC_DRIFT, CUTOVERS)
ALL_TABLES = (*TABLES, *REPORT_TABLES)
