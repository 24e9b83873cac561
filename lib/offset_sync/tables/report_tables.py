"""The Delta tables that report_status and cutover write. The contract with everyone who reads them."""

from __future__ import annotations

from offset_sync.tables.catalog import TABLES
from offset_sync.tables.definition import Table, columns

SYNC_STATUS = Table(
    "sync_status",
    "How every group stands between two clusters, per partition: the newest report. Older ones by time travel.",
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
        "stream at the target) or verify",
        "result | string | done, refused or failed; of a step home also noticed: sync_offsets adds that row by its own "
        "clock, where it has noticed moves at another time than the command ended them",
        "source_cluster | string | where the group is moved from",
        "target_cluster | string | where it is moved to",
        "group_id | string | consumer group",
        "topic | string | topic; null: the step is about the whole group",
        "partition | int | partition; null likewise",
        "source_offset | bigint | the group's commit at the source",
        "target_offset | bigint | what was committed, or would be, at the target",
        "duplicates | bigint | records it will read again",
        "lost | bigint | unread records it will never see",
        "detail | string | why it was refused or failed; what is lost, per origin",
        "stream | string | what topic and its copies are called alike, with the same names topic; null without a "
        "topic, and in rows of earlier versions: topic",
        "target_topic | string | what it is called at the target; null: nothing there, or stream is null too: topic",
    ),
    later=("stream", "target_topic"),
)
REPORT_TABLES = (SYNC_STATUS, SYNC_DRIFT, CUTOVERS)
ALL_TABLES = (*TABLES, *REPORT_TABLES)
