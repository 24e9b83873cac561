package offsetsync.consumer;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes out of a poll what the consumer's group has already read at another cluster, by the lists that Offset Sync
 * commits when it moves the group.
 *
 * <p><b>Use.</b> Put the jar on the class path and set
 * {@code interceptor.classes=offsetsync.consumer.SkipRead}; with Kafka Streams
 * {@code main.consumer.interceptor.classes}, with a Connect sink {@code consumer.override.interceptor.classes}. It runs
 * with kafka-clients 2.1 and newer on Java 8 and newer and needs no other library. The group's principal needs Describe
 * on the group {@code __offset-sync.read.GROUP}, and Read on {@code __offset-sync.seen.GROUP} for marks. Options:
 * <ul>
 * <li>{@code offset.sync.wait.ms}, 10000: how long a poll waits for a list, at most half of
 * {@code max.poll.interval.ms}. After a failure polls wait 1 s at most until an answer comes.
 * <li>{@code offset.sync.marks}, true: whether marks are written.
 * </ul>
 *
 * <p><b>What it does.</b> A poll with records of a partition that it does not know, that starts at or below its last
 * offset, or that was without records for 60 s, asks for the commits of {@code __offset-sync.read.GROUP} and of the
 * group; a list in use is asked for every 10 s. A record is taken out if its offset is listed and it has a leader epoch
 * not above the list's. After the last range the list is dropped, with one line of log. A decision depends on offset,
 * epoch and list alone, so an application that seeks back to retry gets the same records again.
 *
 * <p>A list is void, and everything is delivered, if its text deviates ({@link ReadList}), if the group has committed
 * less than its start or nothing, or if the consumer reads below its start: then the group was set back
 * ({@link Progress}).
 *
 * <p><b>Which way this errs: to delivering.</b> A record delivered twice is a nuisance, one never delivered a loss.
 * <ul>
 * <li><i>No throwable leaves {@link #onConsume}.</i> Kafka catches an Exception, but an Error would leave {@code poll}
 * after the position has moved, and the records would be lost. On any Throwable the records are returned as given.
 * <li><i>Waiting is bounded.</i> What cannot be asked in time, or may not be asked, is delivered, and the next poll
 * asks again; after a refusal by rights, or an error that nothing expects, the first poll after 10 s. An interrupted
 * thread keeps its interrupt flag.
 * <li><i>{@code nextOffsets} are kept</i> (clients 4.0 and newer). Kafka Streams commits from them, and without them a
 * poll that is skipped as a whole would never be committed. If they cannot be kept, the records are returned as given.
 * <li><i>Positions are the consumer's.</i> Nothing here seeks or commits for the group.
 * <li><i>No record's key, value or headers are read or logged.</i>
 * </ul>
 *
 * <p><b>Not for production yet.</b> A list does not say which cluster it is of. The Admin client connects by itself:
 * where {@code bootstrap.servers} leads it to another cluster than the consumer reads, as a DNS name that is switched
 * does, it finds that cluster's list, and <i>records that the group has not read are skipped</i>. And if a group is set
 * back while a list stands, the consumer that notices delivers everything, but after a restart the list holds again.
 *
 * <p><b>Marks.</b> The first records of a partition, then one poll a minute, and {@link #close} commit for
 * {@code __offset-sync.seen.GROUP} the next offset with {@code offset-sync/1 VERSION skipped=N list=S by CLIENT_ID}.
 * They show that the group's consumers skip, and nothing depends on them. Without the right there are none, and one
 * line of log. The Admin client stays open for them; with {@code offset.sync.marks=false} it is closed when no
 * partition has a list.
 *
 * <p><b>JMX.</b> {@code offsetsync.consumer:type=skip-read,client-id=…}: {@code skipped-total}, {@code lists},
 * {@code asked-total}, {@code failed-total}.
 *
 * <p>Methods are called by the thread that polls; {@link #onCommit} also by the one that sends heartbeats.
 */
public class SkipRead<K, V> implements ConsumerInterceptor<K, V> {
    static final String PREFIX = "offset.sync.";

    private static final Logger LOG = LoggerFactory.getLogger(SkipRead.class);
    private static final int REPEATED_WAIT_MS = 1_000;
    private static final long PAUSE_MS = 10_000;
    private static final Constructor<?> WITH_NEXT_OFFSETS = constructorWithNextOffsets();

    private final Map<TopicPartition, Progress> partitions = new HashMap<>();
    private final SkipMetrics metrics = new SkipMetrics();
    private String group;
    private GroupCommits commits;
    private Marks marks;
    private int waitMs;
    private boolean isFailing;
    private long pausedUntil = Long.MIN_VALUE;

    /** Takes the consumer's settings; without a {@code group.id}, or if this fails, nothing will be skipped. */
    @Override
    public void configure(Map<String, ?> settings) {
        try {
            Object groupId = settings.get("group.id");
            if (groupId == null || groupId.toString().isEmpty()) {
                return;
            }
            String clientId = String.valueOf(settings.get("client.id"));
            waitMs = (int) Math.min(number(settings, PREFIX + "wait.ms", 10_000),
                number(settings, "max.poll.interval.ms", 300_000) / 2);
            commits = open(groupId.toString(), settings);
            boolean hasMarks = !"false".equalsIgnoreCase(String.valueOf(settings.get(PREFIX + "marks")));
            marks = new Marks(commits, hasMarks, clientId);
            group = groupId.toString();
            metrics.register(clientId);
        } catch (Throwable failure) {
            failed("cannot be set up as wanted", failure);
        }
    }

    /** Returns the records without those that the group has read at another cluster; on any failure as given. */
    @Override
    public ConsumerRecords<K, V> onConsume(ConsumerRecords<K, V> records) {
        if (group == null || records.isEmpty()) {
            return records;
        }
        try {
            return unread(records, now());
        } catch (Throwable failure) {
            failed("failed, so all records of this poll are delivered", failure);
            pausedUntil = now() + PAUSE_MS;
            return records;
        }
    }

    /** Notes that the partitions are this consumer's; partitions without new records get marks by it. */
    @Override
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (group != null) {
            offsets.forEach((place, committed) -> marks.touch(place, committed.offset(), now()));
        }
    }

    /** Writes the last marks and closes the Admin client; waits 2 s for each at most. */
    @Override
    public void close() {
        if (group == null) {
            return;
        }
        int limit = Math.min(waitMs, 2 * REPEATED_WAIT_MS);
        try {
            marks.writeLast(partitions, limit, now());
        } catch (Throwable failure) {
            failed("cannot write its last marks", failure);
        }
        try {
            commits.close(limit);
            metrics.unregister();
        } catch (Throwable failure) {
            failed("cannot be closed", failure);
        }
    }

    /** Returns what reads and writes commits. */
    GroupCommits open(String groupId, Map<String, ?> settings) {
        return new GroupCommits(groupId, settings);
    }

    private ConsumerRecords<K, V> unread(ConsumerRecords<K, V> records, long now) throws ReflectiveOperationException {
        ask(records, now);
        Map<TopicPartition, List<ConsumerRecord<K, V>>> kept = new HashMap<>();
        int skipped = 0;
        for (TopicPartition place : records.partitions()) {
            List<ConsumerRecord<K, V>> left = unread(records.records(place), partitions.get(place));
            skipped += records.records(place).size() - left.size();
            if (!left.isEmpty()) {
                kept.put(place, left);
            }
        }
        ConsumerRecords<K, V> result = skipped == 0 ? records : copy(records, kept);
        count(records, kept, now);
        return result;
    }

    private List<ConsumerRecord<K, V>> unread(List<ConsumerRecord<K, V>> records, Progress progress) {
        if (!progress.hasList()) {
            return records;
        }
        List<ConsumerRecord<K, V>> left = new ArrayList<>(records.size());
        for (ConsumerRecord<K, V> each : records) {
            if (!progress.isRead(each)) {
                left.add(each);
            }
        }
        return left;
    }

    /** Asks for all partitions of this poll that are due; those for which no answer comes are delivered. */
    private void ask(ConsumerRecords<K, V> records, long now) {
        Map<TopicPartition, Long> due = new HashMap<>();
        for (TopicPartition place : records.partitions()) {
            long first = records.records(place).get(0).offset();
            Progress progress = partitions.computeIfAbsent(place, unknown -> new Progress());
            if (progress.isDue(first, now)) {
                progress.forget();
                due.put(place, first);
            }
        }
        if (due.isEmpty() || now < pausedUntil) {
            return;
        }
        GroupCommits.Answer answer = answer(now);
        if (answer != null) {
            due.forEach((place, first) ->
                partitions.get(place).answered(answer.lists.get(place), answer.own.get(place), first, now));
        }
    }

    private GroupCommits.Answer answer(long now) {
        metrics.asked.incrementAndGet();
        try {
            GroupCommits.Answer answer = commits.read(isFailing ? Math.min(waitMs, REPEATED_WAIT_MS) : waitMs);
            isFailing = false;
            return answer;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            failed("was interrupted, so records are delivered without their lists", null);
        } catch (ExecutionException | TimeoutException failure) {
            Throwable cause = failure.getCause() == null ? failure : failure.getCause();
            if (cause instanceof AuthorizationException) {
                pausedUntil = now + PAUSE_MS;
            }
            failed("cannot read its lists, so records are delivered without them: " + cause, null);
        }
        return null;
    }

    private void count(ConsumerRecords<K, V> records, Map<TopicPartition, ?> kept, long now) {
        long lists = 0;
        for (TopicPartition place : records.partitions()) {
            List<ConsumerRecord<K, V>> all = records.records(place);
            List<?> left = (List<?>) kept.get(place);
            int taken = all.size() - (left == null ? 0 : left.size());
            long last = all.get(all.size() - 1).offset();
            Progress progress = partitions.get(place);
            metrics.skipped.addAndGet(taken);
            if (progress.passed(last, taken, now)) {
                LOG.info("{} of group {} has passed its read list from {}: {} records skipped", place, group,
                    progress.listStart(), progress.skipped());
            }
            marks.touch(place, last + 1, now);
        }
        for (Progress each : partitions.values()) {
            each.forgetUnused(now);
            lists += each.hasList() ? 1 : 0;
        }
        metrics.lists.set(lists);
        marks.write(partitions, waitMs, now);
        if (lists == 0 && !marks.areWanted()) {
            commits.close(REPEATED_WAIT_MS);
        }
    }

    /** Copies with nextOffsets where there are any: the constructor with one map leaves them empty. */
    @SuppressWarnings({"unchecked", "deprecation"})
    private ConsumerRecords<K, V> copy(
            ConsumerRecords<K, V> records, Map<TopicPartition, List<ConsumerRecord<K, V>>> kept)
            throws ReflectiveOperationException {
        if (WITH_NEXT_OFFSETS == null) {
            return new ConsumerRecords<>(kept);
        }
        Method nextOffsets = ConsumerRecords.class.getMethod("nextOffsets");
        return (ConsumerRecords<K, V>) WITH_NEXT_OFFSETS.newInstance(kept, nextOffsets.invoke(records));
    }

    private static Constructor<?> constructorWithNextOffsets() {
        try {
            return ConsumerRecords.class.getConstructor(Map.class, Map.class);
        } catch (NoSuchMethodException before40) {
            return null;
        }
    }

    /** Counts a failure and logs the first of a series; never throws, whatever failed. */
    private void failed(String what, Throwable failure) {
        try {
            metrics.failed.incrementAndGet();
            if (!isFailing) {
                LOG.warn("SkipRead of group {} {}", group, what, failure);
            }
            isFailing = true;
        } catch (Throwable another) {
            // Delivering goes before logging.
        }
    }

    private static long number(Map<String, ?> settings, String name, long otherwise) {
        Object value = settings.get(name);
        try {
            long given = value == null ? otherwise : Long.parseLong(value.toString().trim());
            return given > 0 ? Math.min(given, Integer.MAX_VALUE) : otherwise;
        } catch (NumberFormatException notANumber) {
            LOG.warn("{}={} is not a number; {} is used", name, value, otherwise);
            return otherwise;
        }
    }

    /** Returns milliseconds of a clock that never goes back. */
    long now() {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }
}
