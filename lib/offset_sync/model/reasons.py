"""Every reason that a report, a plan, a move or a translation gives, and where its remedy is: one table.

Terminal, JSON, page, tables, plan and documents say the same sentence. Braces are its few numbers and names; a count
comes last, after what it counts, so that it needs no plural.
"""

from __future__ import annotations

from enum import Enum, unique

GUIDE = "operations.md"
"""The document with the remedies."""
_BY_REASON, _HEALTHY, _LOST = "withheld-by-reason", "1-is-the-sync-healthy", "offsetsynclost"


class Said(str):
    """The sentence of a reason, which knows its *word*."""

    word: str

    def __new__(cls, text: str, word: str = "") -> Said:
        """Return *text*, said for the reason *word*."""
        said = super().__new__(cls, text)
        said.word = word
        return said


@unique
class Reason(Enum):
    """A word, its sentence, and the heading of :data:`GUIDE` that has the remedy where the sentence has none."""

    # Withheld. The words are those of State, the sentences also in GUIDE.
    TOPIC_RECREATED = "the topic was recreated since: its offsets mean other records"
    LOG_TRUNCATED = "an unclean leader election truncated the source's log since, or the target's at an unknown offset"
    PARTITIONS_DIFFER = "only one of the clusters has this partition"
    NOT_INDEXED = "the index has not reached the offset, or began later (index.starting: latest)"
    TOPIC_MISSING = "a cluster has no such topic"
    TOPIC_UNAUTHORIZED = "Describe on the topic is denied at a cluster"
    COMMIT_BEYOND_END = "the offset is above the end of the source's log"
    CLUSTER_UNREACHABLE = "a cluster, or the leader of the partition, did not answer"
    STRATEGY_REFUSED = "the topic's strategy could lose records of it"
    NO_REFERENCE = "the topic's strategy has no mirrored record to refer to"
    TRANSLATION_FAILED = "an error in Offset Sync itself; the log has its stack trace"
    OWNER_UNKNOWN = "a cluster's commits, which may be newer, could not be read since the start"
    TOPIC_NOT_INCLUDED = "topics.include does not match the topic"
    PARTITION_MISSING = "the source does not have this partition"
    COMMITTED_AT_BOTH = "two clusters commit the group"
    # What is known of an offset that no group has committed.
    ENDS_AT = "the log at {} ends at {:,}: is the offset of another topic or cluster?"
    ENDED_BELOW = "a commit not above it was beyond the end when the cluster last answered"
    KNOWN_TO = "the log at {} is known up to {:,} only: translate that, which repeats the records above"
    TAKEN_AT = "if it was taken after {}, give that time (--taken-at)"
    OFFSETS_WITHHELD = "{:,} of {:,} offsets are withheld: {}", _BY_REASON
    LOST_FOR_GOOD = "if {} is lost for good, use --disaster"

    # Stalled, Behind, Mirroring: column reason of sync_status.
    INDEX_SILENT = "index_records has made no progress for {} s"
    SOURCE_SILENT = "the source does not answer"
    TARGET_HAS_MEMBERS = "the target's group has members"
    NOT_CAPTURED = "{} holds {}, the newest captured commit is {}: is sync_offsets running?"
    CHANGES = "its answer is about to change, as the index knows more by now"
    NOTHING_COMMITTED = "nothing committed at the target"
    TARGET_AHEAD = "unread records below the target's offset, committed by another client: {:,}"
    OUTSIDE_LOG = "offset {} is outside the target's log: committed by another client, or its records have expired"
    TARGET_BEHIND = "records behind at the target: {:,}"
    STILL_SKIPS = "its consumers still skip up to {} at {}"
    LISTS_SILENT = "{} did not answer for its read list"
    NOT_MIRRORED = "records not mirrored yet: {:,}"
    NEVER_THERE = "records unread and permanently missing at the target, dropped or deleted: {:,}"
    READ_NOT_MIRRORED = "records already read, not mirrored yet: {:,}"
    READ_ABOVE = "records already read, above the first unread one: {:,}"
    UNINDEXED = "records not indexed yet: {:,}"
    COMMITS_UNREAD = "a third cluster holds a commit that sync_offsets has not read"
    OF_TABLES = "committed offsets known from the tables only: {}"
    UNSTAMPED = "the mirror stamps no headers: cannot tell which records are mirrored"
    NOTHING_TO_COMPARE = "no record at the target to compare with"
    RECORD_UNREAD = "its next record at {} is in flight, or could not be read for comparison"
    NOT_COMPARED = "its next record is not compared yet: too many comparisons for one report"
    HEADERS_UNREAD = "the next record's headers cannot be read"
    OTHER_RECORD = "source and target have different next records"
    RECORD_DIFFERS = "source and target differ in the {} of the next record"
    TOLD = "{}"
    TWO_HOMES = "committed at both {} within sync.home_silence: stop one reader, or decide with cutover"
    NEWEST_ELSEWHERE = "some of the group's newest commits are at {}"

    # The headline.
    SKIPPING = "unread records at the target would be skipped: {skipped:,}, {of}", _LOST
    WITHHELD = "Withheld: {of}{why}", _BY_REASON
    STALLED = "Stalled: {of}{why}", _HEALTHY
    OF_ROWS = "partitions {:,}, groups {:,}"
    BEHIND = "Behind, not for long: {}{}"
    PAIR_DRIFTS = "offsets of {} drift apart: by {} in the window", "offsetsyncdriftnotconverged"
    GROUPS_DRIFT = "groups whose offsets drift apart: {:,} ({})", "offsetsyncdriftnotconverged"
    DECIDED_HERE = "no sync_offsets is alive: what follows was decided by this report, from the tables"
    NOTHING_TO_REPORT = "nothing to report: no commit of an included group and topic is in tables.root"
    UNCOMMITTED = "topics with partitions never committed by their group: {:,} ({}); apply commits the target's start"

    # Why a group is not moved.
    HAS_MEMBERS = "it has members at {}; stop them there first"
    TARGET_SILENT = "{}; groups cannot be moved to a target that does not answer"
    SOURCE_LOST = "{}; if {} is lost, use --disaster"
    NOT_LISTED = (
        "{} does not list it: it is of another type, or Describe on it is missing; if its members are stopped, "
        "pass --confirm-readers",
        "minimal-acls",
    )
    READS_ALONE = "committed {} ago at {} without members: stop the reader, or pass --confirm-readers"
    HAS_INTERNAL = (
        "records of {} that it has not processed stay at {}, and are lost to it unless they are mirrored and included: "
        "move it by the guide, and pass --confirm-internal",
        "kafka-streams",
    )
    NOTHING_TO_MOVE = "nothing to move: its newest commits are not at {}"
    MOVE_FROM_THERE = "some of its newest commits are at {}; stop it there and move it from there first"
    IS_WITHHELD = "{} is withheld: {} ({}); partitions withheld: {:,}", _BY_REASON
    GETS_NO_LISTS = "it gets no read lists: sync.read_lists.groups does not name it, or it has no partitions to move"
    AT_TWO_CLUSTERS = "it commits at two clusters, so it gets no read lists; move it without --skip-read"
    MAY_STILL_SKIP = "{} did not answer, so its consumers may still skip there: repeat the command"
    SKIPS_TO_THERE = (
        "its consumers still skip up to {1} at {0}: start them there, and repeat the command once they have committed "
        "that offset"
    )
    NOT_ON_LIST = "records that would be repeated, as they are not on its read list: {:,}; --at-cost accepts that"
    NO_MARK = (
        "newest mark of a consumer with the interceptor: {}, needed: {}; start all consumers with the interceptor and "
        "close them, or pass --without-proof"
    )
    NOT_READ = "not read within {:.0f} s: {}; are index_records and sync_offsets running?"

    # Why a group that was moved, or is to be moved, is not ready; IF_ before a word of Status is what to do.
    IF_WITHHELD = "its reason says what to do", _BY_REASON
    IF_STALLED = "start the job or mirror that has stopped, then repeat the command"
    IF_BEHIND = "repeat apply"
    IF_TARGET_ACTIVE = "stop the group's members at {}"
    IF_IN_SYNC = "it holds another offset than the answer: repeat apply"
    IF_MIRRORING = "wait until the mirror has copied all records, then repeat the command"
    IF_CROSSING = "send all producers to {}, and let the group read at {} until records no longer cross"
    MISSING = "records that it has read and that are not at {} yet: {:,}"
    LIST_NOT_HELD = "{} does not hold its present read list"
    REPEATS = "records that would be repeated: {:,}"
    NOTHING_TO_VERIFY = "nothing to verify: its newest commits are not at {}"
    HAS_MOVED_ON = "its position has changed during the move; repeat apply"
    READ_BACK = "{}; {}, wanted {}; correct that and repeat the command"
    START_UNKNOWN = "its log start at {} is unknown; repeat apply"

    # Notes of a plan, and what a move says.
    APPLY_DECIDES = "{}; apply decides"
    FROM_START = "never committed: {} partitions {}; apply commits the start at {}"
    NOT_IN_SYNC = "{} is {}: {}; partitions not in sync: {:,}"
    SUBSCRIBES = "make sure that it subscribes at {} to: {}"

    # What a rehearsal has found.
    NOT_READ_AT = "its records at {} were not read in time; raise --timeout"
    LOSES_MORE = "unread records below its start: {:,}, predicted: {:,}"
    REPEATS_MORE = "repeats: {:,}, predicted at most: {:,}"
    IN_COMMON = "records around its start, none of them among those of the source: {:,}; raise --records"
    COMPARED = "records compared: {:,}, undecided: {:,}"

    def __init__(self, sentence: str, see: str = "") -> None:
        self.sentence, self.see = sentence, see

    def __call__(self, *values: object, **named: object) -> Said:
        """Return the sentence with its values, and where the remedy is if the sentence does not say it."""
        text = self.sentence.format(*values, **named)
        return Said(f"{text}; {GUIDE}#{self.see}" if self.see else text, self.name)
