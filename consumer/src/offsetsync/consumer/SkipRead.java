package offsetsync.consumer;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.ClusterResourceListener;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes out of a poll what the consumer's group has already read at another cluster, by the lists that Offset Sync
 * commits when it moves the group.
 *
 * <p><b>Use.</b> Put the jar on the class path and set
 * {@code interceptor.classes=offsetsync.consumer.SkipRead}; with Kafka Streams
 * {@code main.consumer.interceptor.classes}, with a Connect sink {@code consumer.override.interceptor.classes}. It runs
 * with kafka-clients 2.5 and newer on Java 8 and newer and needs no other library. With kafka-clients 2.1 to 2.4, whose
 * Admin client cannot write commits, it delivers everything. The group's principal needs
 * <ul>
 * <li>Describe on the group {@code __offset-sync.read.GROUP},
 * <li>Read on the group {@code __offset-sync.used.GROUP},
 * <li>Read on the group {@code __offset-sync.seen.GROUP} for marks.
 * </ul>
 * Options:
 * <ul>
 * <li>{@code offset.sync.wait.ms}, 10000: how long a poll waits for lists, at most half of
 * {@code max.poll.interval.ms}. After a failure polls wait 1 s at most until an answer comes.
 * <li>{@code offset.sync.marks}, true: whether marks are written.
 * </ul>
 *
 * <p><b>What it does.</b> A poll asks for the commits of the group, of its lists and of its uses of lists if it has
 * records of a partition that is not known, that starts at or below its last offset, or that was without records for
 * 60 s. A list in use is asked for every 10 s. A record is taken out if its offset is listed and its leader epoch is
 * not above the list's. After the last range the list is dropped, with one line of log. A decision depends on offset,
 * epoch and list alone, so an application that seeks back to retry gets the same records again.
 *
 * <p><b>When it delivers what is listed.</b>
 * <ul>
 * <li>The text of the list deviates in one character ({@link ReadList}).
 * <li>The list is of another cluster than the consumer reads from, or the Admin client reaches another cluster. The
 * consumer tells its cluster before the first records. If it tells two clusters in its life, or one without an id, it
 * gets no lists any more, because buffered records may be of either.
 * <li>The group was set back below the list, now or before a restart. A group that was set back within its list gets
 * everything up to where it was ({@link Progress}).
 * </ul>
 *
 * <p><b>Which way this errs: to delivering.</b> A record delivered twice is a nuisance, one never delivered a loss.
 * <ul>
 * <li><i>No throwable leaves {@link #onConsume}.</i> Kafka catches an Exception, but an Error would leave {@code poll}
 * after the position has moved, and the records would be lost. On any Throwable the records are returned as given.
 * <li><i>Waiting is bounded.</i> What cannot be asked in time, or may not be asked, is delivered, and a later poll
 * asks again ({@link ReadLists}). An interrupted thread keeps its interrupt flag.
 * <li><i>{@code nextOffsets} are kept</i> (clients 4.0 and newer). Kafka Streams commits from them, and without them a
 * poll that is skipped as a whole would never be committed. If they cannot be kept, the records are returned as given.
 * <li><i>Positions are the consumer's.</i> Nothing here seeks or commits for the group.
 * <li><i>No record's key, value or headers are read or logged.</i>
 * </ul>
 *
 * <p>Offset Sync writes lists for the groups that {@code sync.read_lists.groups} names, by default none, and
 * {@code cutover --skip-read} moves them.
 *
 * <p><b>Limits.</b>
 * <ul>
 * <li>If a topic is deleted and created again while a list is in use, a falling offset or leader epoch shows it. If
 * neither falls, the list is used for 10 s at most.
 * <li>If an application seeks back after the first answer, but not below the group's commit of that time, this counts
 * as a retry: what is listed stays out.
 * <li>With the consumer protocol and auto-commits the client may commit its first poll of a partition before the
 * interceptor asks ({@link Progress}). So where an application seeks back before that poll, or begins without a commit,
 * what is listed may stay out.
 * <li>If a group is set back within its list while it has no consumer, what is listed stays out, unless the list is
 * taken away before it starts again.
 * <li>If the addresses of a cluster lead to another one while a consumer runs, brokers and clients before 3.1, which
 * fetch without topic ids, notice it with the next metadata only.
 * </ul>
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
 * <p>Methods are called by the thread that polls; {@link #onCommit} and {@link #onUpdate} also by others.
 */
public class SkipRead<K, V> implements ConsumerInterceptor<K, V>, ClusterResourceListener {
    static final String PREFIX = "offset.sync.";

    private static final Logger LOG = LoggerFactory.getLogger(SkipRead.class);
    private static final int CLOSE_MS = 2_000;
    private static final int LONGEST_CLIENT_ID = 200;
    private static final Constructor<?> WITH_NEXT_OFFSETS = constructorWithNextOffsets();
    /** In place of a cluster's id: there is none, or there were two. */
    private static final String UNKNOWN = "";

    private final SkipMetrics metrics = new SkipMetrics();
    private volatile String cluster;
    private GroupCommits commits;
    private ReadLists lists;
    private Marks marks;
    private int waitMs;
    private boolean isActive;
    private boolean hasFailed;

    /** Takes the consumer's settings; without a {@code group.id}, or if this fails, nothing will be skipped. */
    @Override
    public void configure(Map<String, ?> settings) {
        try {
            Object group = settings.get("group.id");
            if (group == null || group.toString().isEmpty()) {
                return;
            }
            if (!canCommit()) {
                LOG.warn("SkipRead of group {} delivers everything: it needs kafka-clients 2.5 or newer", group);
                return;
            }
            String clientId = String.valueOf(settings.get("client.id"));
            String shortId = clientId.substring(0, Math.min(clientId.length(), LONGEST_CLIENT_ID));
            waitMs = (int) Math.min(number(settings, PREFIX + "wait.ms", 10_000),
                number(settings, "max.poll.interval.ms", 300_000) / 2);
            commits = open(group.toString(), settings);
            lists = new ReadLists(commits, metrics, shortId, waitMs, commitsInPolls(settings));
            boolean hasMarks = !"false".equalsIgnoreCase(String.valueOf(settings.get(PREFIX + "marks")));
            marks = new Marks(commits, hasMarks, shortId);
            isActive = true;
            metrics.register(clientId);
        } catch (Throwable failure) {
            LOG.warn("SkipRead cannot be set up as wanted", failure);
        }
    }

    /** Takes the id of the cluster that the consumer reads from; called before any record can come. */
    @Override
    public void onUpdate(ClusterResource told) {
        String id = told == null || told.clusterId() == null ? UNKNOWN : told.clusterId();
        String before = cluster;
        cluster = before == null || before.equals(id) ? id : UNKNOWN;
    }

    /** Returns the records without those that the group has read at another cluster; on any failure as given. */
    @Override
    public ConsumerRecords<K, V> onConsume(ConsumerRecords<K, V> records) {
        if (!isActive || records.isEmpty()) {
            return records;
        }
        try {
            String read = cluster;
            if (!isKnown(read)) {
                lists.clear();
                failed("delivers everything: its consumer's cluster has no id, or has become another one", null);
                return records;
            }
            ConsumerRecords<K, V> unread = unread(records, read, now());
            hasFailed = false;
            return unread;
        } catch (Throwable failure) {
            failed("failed, so all records of this poll are delivered", failure);
            return records;
        }
    }

    /** Notes that the partitions are this consumer's; partitions without new records get marks by it. */
    @Override
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (isActive) {
            offsets.forEach((place, committed) -> marks.touch(place, committed.offset(), now()));
        }
    }

    /** Writes the last marks, each request of which it waits for 2 s at most, and closes the Admin client. */
    @Override
    public void close() {
        if (isActive) {
            if (isKnown(cluster)) {
                marks.writeLast(lists, Math.min(waitMs, CLOSE_MS));
            }
            commits.close();
            metrics.unregister();
        }
    }

    /** Returns what reads and writes commits. */
    GroupCommits open(String group, Map<String, ?> settings) {
        return new GroupCommits(group, settings);
    }

    private ConsumerRecords<K, V> unread(ConsumerRecords<K, V> records, String read, long now)
            throws ReflectiveOperationException {
        lists.ask(records, read, now);
        Map<TopicPartition, List<ConsumerRecord<K, V>>> kept = new HashMap<>();
        int skipped = 0;
        for (TopicPartition place : records.partitions()) {
            List<ConsumerRecord<K, V>> all = records.records(place);
            List<ConsumerRecord<K, V>> left = unread(all, lists.of(place));
            skipped += all.size() - left.size();
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

    private void count(ConsumerRecords<K, V> records, Map<TopicPartition, List<ConsumerRecord<K, V>>> kept, long now) {
        for (TopicPartition place : records.partitions()) {
            List<ConsumerRecord<K, V>> all = records.records(place);
            if (all.isEmpty()) {
                continue;
            }
            int taken = all.size() - (kept.containsKey(place) ? kept.get(place).size() : 0);
            long last = all.get(all.size() - 1).offset();
            Progress progress = lists.of(place);
            metrics.skipped.addAndGet(taken);
            if (progress.passed(last, taken, now)) {
                LOG.info("{} of group {} has passed its read list from {}: {} records skipped", place, commits.group,
                    progress.listStart(), progress.skipped());
            }
            marks.touch(place, last + 1, now);
        }
        boolean hasLists = lists.inUse(now) > 0;
        marks.write(lists, waitMs, now);
        if (!hasLists && !marks.areWanted()) {
            commits.close();
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
        return (ConsumerRecords<K, V>) WITH_NEXT_OFFSETS.newInstance(kept, nextOffsets(records));
    }

    /** Returns where the consumer goes on after this poll; empty with clients before 4.0, which do not tell it. */
    @SuppressWarnings("unchecked")
    static Map<TopicPartition, OffsetAndMetadata> nextOffsets(ConsumerRecords<?, ?> records)
            throws ReflectiveOperationException {
        if (WITH_NEXT_OFFSETS == null) {
            return new HashMap<>();
        }
        Method nextOffsets = ConsumerRecords.class.getMethod("nextOffsets");
        return (Map<TopicPartition, OffsetAndMetadata>) nextOffsets.invoke(records);
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
            if (!hasFailed) {
                hasFailed = true;
                LOG.warn("SkipRead of group {} {}", commits.group, what, failure);
            }
        } catch (Throwable another) {
            // Delivering goes before logging.
        }
    }

    private static boolean isKnown(String id) {
        return id != null && !id.equals(UNKNOWN);
    }

    /** Returns whether the client has a thread that commits what an interceptor may still be asked about. */
    private static boolean commitsInPolls(Map<String, ?> settings) {
        boolean isAuto = !"false".equalsIgnoreCase(String.valueOf(settings.get("enable.auto.commit")).trim());
        return isAuto && "consumer".equalsIgnoreCase(String.valueOf(settings.get("group.protocol")).trim());
    }

    private static boolean canCommit() {
        try {
            Class.forName("org.apache.kafka.clients.admin.AlterConsumerGroupOffsetsOptions");
            return true;
        } catch (ClassNotFoundException before25) {
            return false;
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
