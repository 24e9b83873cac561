package offsetsync.consumer;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;

/**
 * What one consumer knows of one partition: its list, if there is one, and how far it has read.
 *
 * <p><b>From where on a list is used.</b> A group may be set back to read listed records again. So a list never takes
 * out a record below the group's own commit at this consumer's first answer with the list. With the consumer protocol
 * kafka-clients may auto-commit the records of a poll while an interceptor still sees them (4.4: in 1 of 80 first
 * polls of a partition). Such a commit, within a consumer's first poll of the partition, counts as one of the poll's
 * first offset. A list is void, which is the same from the largest offset on, in three cases:
 * <ul>
 * <li>The group has committed less than the list's start, or nothing.
 * <li>The consumer reads below the list's start, or has done so since the broker's last answer.
 * <li>The leader epoch of the records falls: this is another topic of the same name.
 * </ul>
 *
 * <p>The group remembers it. A commit of {@code __offset-sync.used.GROUP} has the list's start and
 * {@code offset-sync/1 from=OFFSET by CLIENT_ID}. It is acknowledged before a list is used for the first time, and
 * again before records below {@code from} are judged. The partition's next consumer reads it together with the list. If
 * it is there but cannot be read, the list is void.
 *
 * <p><b>Which way this errs.</b> Only an answer that is at most 10 s old is used. Without a list every record is
 * delivered.
 */
final class Progress {
    static final long FORGOTTEN_MS = 60_000;
    static final long STALE_MS = 10_000;
    private static final long NONE = -1;
    private static final long VOID = Long.MAX_VALUE;
    private static final Pattern USE = Pattern.compile(
        "(?s)offset-sync/1 from=(0|[1-9][0-9]{0,17}|" + VOID + ") by .*");

    private ReadList list;
    private boolean isKnown;
    private long askedAt;
    private long seenAt;
    private long last = NONE;
    private long newestEpoch = NONE;
    /** The first record that was delivered since the last answer. */
    private long began = Long.MAX_VALUE;
    /** Of the newest list, whether it is used or not. */
    private long start = NONE;
    private long from;
    /** Of the newest list that was used. */
    private long listStart = NONE;
    private long skipped;

    /** Returns whether the broker has to be asked before records from {@code first} on are judged. */
    boolean isDue(long first, long now) {
        return !isKnown || first <= last || now - seenAt > FORGOTTEN_MS || list != null && now - askedAt > STALE_MS;
    }

    /** Forgets the answer, until the next one. */
    void forget() {
        list = null;
        isKnown = false;
    }

    /**
     * Forgets the answer; the broker is asked for the next one before records from {@code first} on are judged. Until
     * it answers they are delivered, and may be committed. So the answer counts from the first of them.
     */
    void begin(long first) {
        forget();
        began = Math.min(began, first);
    }

    /**
     * Takes the answer; the next record is {@code first}. {@code own} is what the group has committed, null for
     * nothing. Returns what has to be committed before records are judged, or null.
     */
    OffsetAndMetadata answered(
            ReadList found, Long own, OffsetAndMetadata used, long first, long now, String clientId) {
        list = null;
        isKnown = true;
        askedAt = now;
        newestEpoch = NONE;
        long least = Math.min(first, began);
        began = Long.MAX_VALUE;
        if (found == null) {
            return null;
        }
        if (found.start != start) {
            start = found.start;
            from = own == null ? VOID : own;
        }
        boolean isSetBack = own == null || own < start || least < start;
        long remembered = remembered(used);
        from = isSetBack ? VOID : Math.max(from, remembered);
        if (first >= found.end()) {
            return null;
        }
        if (from < found.end()) {
            list = found;
            skipped = start == listStart ? skipped : 0;
            listStart = start;
        }
        // What is read again, the consumers after this one have to deliver too.
        long wanted = first < from ? from : start;
        return wanted > remembered ? new OffsetAndMetadata(start, "offset-sync/1 from=" + wanted + " by " + clientId
            + GroupCommits.END)
            : null;
    }

    /** Returns whether this consumer has had no records of the partition. */
    boolean isFirst() {
        return last == NONE;
    }

    boolean hasList() {
        return list != null;
    }

    /** Returns whether the record was read elsewhere. A falling leader epoch makes the list void at once. */
    boolean isRead(ConsumerRecord<?, ?> record) {
        if (list == null || !record.leaderEpoch().isPresent()) {
            return false;
        }
        int epoch = record.leaderEpoch().get();
        if (epoch < newestEpoch) {
            from = VOID;
            forget();
            return false;
        }
        newestEpoch = epoch;
        return epoch <= list.epoch && record.offset() >= from && list.contains(record.offset());
    }

    /** Counts a poll that ends with offset {@code newLast}. Drops the list and returns true if it has passed it. */
    boolean passed(long newLast, long taken, long now) {
        last = newLast;
        seenAt = now;
        skipped += taken;
        boolean isPassed = list != null && newLast + 1 >= list.end();
        if (isPassed) {
            list = null;
        }
        return isPassed;
    }

    /** Forgets a list that was not used for long: the partition may be another member's now. */
    void forgetUnused(long now) {
        if (list != null && now - seenAt > FORGOTTEN_MS) {
            forget();
        }
    }

    /** Returns how many records of the newest list that was used were taken out. */
    long skipped() {
        return skipped;
    }

    /** Returns the start of the newest list that was used; a dash if there was none. */
    String listStart() {
        return listStart == NONE ? "-" : Long.toString(listStart);
    }

    /** Returns from where on the group uses the newest list; {@link #NONE} if nothing says so. */
    private long remembered(OffsetAndMetadata used) {
        if (used == null || used.offset() != start) {
            return NONE;
        }
        Matcher use = USE.matcher(used.metadata());
        return use.matches() ? Long.parseLong(use.group(1)) : VOID;
    }
}
