package offsetsync.consumer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lists of the partitions that one consumer reads, asked for when a poll needs them.
 *
 * <p><b>Which way this errs.</b> Whatever fails while it asks leaves the partitions concerned without a list, so their
 * records are delivered. A later poll asks again, after a pause that doubles from 100 ms to 10 s.
 */
final class ReadLists {
    private static final Logger LOG = LoggerFactory.getLogger(ReadLists.class);
    private static final int REPEATED_WAIT_MS = 1_000;
    private static final long FIRST_PAUSE_MS = 100;
    private static final long LONGEST_PAUSE_MS = 10_000;

    private final GroupCommits commits;
    private final SkipMetrics metrics;
    private final String clientId;
    private final int waitMs;
    /** Whether the client may commit the records of a poll before the interceptor has seen them all. */
    private final boolean commitsInPolls;
    private final Map<TopicPartition, Progress> partitions = new HashMap<>();
    private int failures;
    private long pausedUntil = Long.MIN_VALUE;

    ReadLists(GroupCommits commits, SkipMetrics metrics, String clientId, int waitMs, boolean commitsInPolls) {
        this.commits = commits;
        this.metrics = metrics;
        this.clientId = clientId;
        this.waitMs = waitMs;
        this.commitsInPolls = commitsInPolls;
    }

    /** Returns what is known of a partition, or null. */
    Progress of(TopicPartition place) {
        return partitions.get(place);
    }

    /** Asks cluster {@code cluster} for all partitions of this poll that are due. Throws nothing. */
    void ask(ConsumerRecords<?, ?> records, String cluster, long now) {
        Map<TopicPartition, Long> due = new HashMap<>();
        for (TopicPartition place : records.partitions()) {
            List<? extends ConsumerRecord<?, ?>> all = records.records(place);
            Progress progress = partitions.computeIfAbsent(place, unknown -> new Progress());
            if (!all.isEmpty() && progress.isDue(all.get(0).offset(), now)) {
                progress.begin(all.get(0).offset());
                due.put(place, all.get(0).offset());
            }
        }
        if (due.isEmpty() || now < pausedUntil) {
            return;
        }
        metrics.asked.incrementAndGet();
        try {
            answer(due, records, cluster, now);
            failures = 0;
        } catch (Throwable failure) {
            due.keySet().forEach(place -> partitions.get(place).forget());
            failed(failure, now);
        }
    }

    /** Forgets all partitions. */
    void clear() {
        partitions.clear();
        metrics.lists.set(0);
    }

    /** Forgets lists that were not used for long, and returns how many are in use. */
    long inUse(long now) {
        long lists = 0;
        for (Progress each : partitions.values()) {
            each.forgetUnused(now);
            lists += each.hasList() ? 1 : 0;
        }
        metrics.lists.set(lists);
        return lists;
    }

    private void answer(Map<TopicPartition, Long> due, ConsumerRecords<?, ?> records, String cluster, long now)
            throws InterruptedException, ExecutionException, TimeoutException, ReflectiveOperationException {
        int wait = failures == 0 ? waitMs : Math.min(waitMs, REPEATED_WAIT_MS);
        long asked = System.nanoTime();
        GroupCommits.Answer answer = commits.read(cluster, wait);
        Map<TopicPartition, OffsetAndMetadata> next = nextOffsets(records);
        Map<TopicPartition, OffsetAndMetadata> uses = new HashMap<>();
        due.forEach((place, first) -> {
            ReadList list = ReadList.of(answer.lists.get(place), cluster);
            OffsetAndMetadata end = partitions.get(place).isFirst() ? next.get(place) : null;
            Long own = own(answer.own.get(place), first, end);
            OffsetAndMetadata use =
                partitions.get(place).answered(list, own, answer.used.get(place), first, now, clientId);
            if (use != null) {
                uses.put(place, use);
            }
        });
        if (!uses.isEmpty()) {
            long gone = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - asked);
            commits.use(uses, (int) Math.max(1, wait - gone));
        }
    }

    /** Returns the ends of a poll whose records the client may commit meanwhile; empty if it does not. */
    private Map<TopicPartition, OffsetAndMetadata> nextOffsets(ConsumerRecords<?, ?> records)
            throws ReflectiveOperationException {
        return commitsInPolls ? SkipRead.nextOffsets(records) : new HashMap<>();
    }

    /** Returns what the group had committed before a poll from {@code first} to {@code next}, or null. */
    private static Long own(OffsetAndMetadata committed, long first, OffsetAndMetadata next) {
        if (committed == null) {
            return null;
        }
        boolean isOfPoll = next != null && committed.offset() > first && committed.offset() <= next.offset();
        return isOfPoll ? first : committed.offset();
    }

    /** Counts a failure, logs the first of a series, and starts the pause. */
    private void failed(Throwable failure, long now) {
        pausedUntil = now + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << Math.min(failures, 10));
        failures = Math.min(failures, 10) + 1;
        metrics.failed.incrementAndGet();
        if (failure instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        if (failures == 1) {
            boolean hasCause = failure instanceof ExecutionException && failure.getCause() != null;
            LOG.warn("SkipRead of group {} cannot read its lists, so records are delivered without them: {}",
                commits.group, String.valueOf(hasCause ? failure.getCause() : failure));
        }
    }
}
