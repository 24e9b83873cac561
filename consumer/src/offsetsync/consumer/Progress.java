package offsetsync.consumer;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;

/**
 * What one consumer knows of one partition: its list, if there is one, and how far it has read.
 *
 * <p><b>Which way this errs.</b> A list is used only after an answer from the broker confirmed it, for 10 s, and only by
 * a consumer whose group has committed its start and whose records are not below it. A start that was below once
 * stays void for this consumer: the group was set back. Without a list every record is delivered.
 */
final class Progress {
    static final long FORGOTTEN_MS = 60_000;
    static final long STALE_MS = 10_000;
    private static final long NONE = -1;

    private ReadList list;
    private boolean isKnown;
    private long askedAt;
    private long seenAt;
    private long last = NONE;
    private long voidStart = NONE;
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

    /** Takes the answer; the next record is {@code first}. */
    void answered(OffsetAndMetadata listed, OffsetAndMetadata own, long first, long now) {
        list = null;
        isKnown = true;
        askedAt = now;
        ReadList found = listed == null ? null : ReadList.of(listed.offset(), listed.metadata());
        if (found == null) {
            return;
        }
        if (own == null || own.offset() < found.start || first < found.start) {
            voidStart = found.start;
        }
        if (found.start == voidStart || first >= found.end()) {
            return;
        }
        if (found.start != listStart) {
            listStart = found.start;
            skipped = 0;
        }
        list = found;
    }

    boolean hasList() {
        return list != null;
    }

    /** Returns whether the record was read elsewhere; the answer depends on its offset, its epoch and the list alone. */
    boolean isRead(ConsumerRecord<?, ?> record) {
        return list != null && list.contains(record.offset())
            && record.leaderEpoch().isPresent() && record.leaderEpoch().get() <= list.epoch;
    }

    /** Counts a poll that ends with offset {@code newLast}; returns whether it has passed the list, which is dropped. */
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

    /** Returns how many records of the newest list were taken out. */
    long skipped() {
        return skipped;
    }

    /** Returns the start of the newest list; a dash if there was none. */
    String listStart() {
        return listStart == NONE ? "-" : Long.toString(listStart);
    }
}
