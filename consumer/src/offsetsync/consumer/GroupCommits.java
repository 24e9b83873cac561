package offsetsync.consumer;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.AlterConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads the commits of a group and of its read list, and writes its marks, with an Admin client opened on demand.
 *
 * <p>The client has the consumer's settings without those that only a consumer knows, and without its interceptors and
 * metrics reporters. Its thread is a daemon. Nothing here waits without a limit.
 */
class GroupCommits {
    static final String READ = "__offset-sync.read.";
    static final String SEEN = "__offset-sync.seen.";

    final String group;
    private final Map<String, Object> settings;
    private AdminClient client;

    GroupCommits(String group, Map<String, ?> consumer) {
        this.group = group;
        this.settings = settings(consumer);
    }

    /** What was committed: the read lists, and the group's own offsets. Values may be null, as some clients have it. */
    static final class Answer {
        final Map<TopicPartition, OffsetAndMetadata> lists;
        final Map<TopicPartition, OffsetAndMetadata> own;

        Answer(Map<TopicPartition, OffsetAndMetadata> lists, Map<TopicPartition, OffsetAndMetadata> own) {
            this.lists = lists;
            this.own = own;
        }
    }

    /** Reads the commits of both groups and waits {@code waitMs} for them in all. */
    Answer read(int waitMs) throws InterruptedException, ExecutionException, TimeoutException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        KafkaFuture<Map<TopicPartition, OffsetAndMetadata>> lists = list(READ + group, waitMs);
        KafkaFuture<Map<TopicPartition, OffsetAndMetadata>> own = list(group, waitMs);
        return new Answer(
            lists.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS),
            own.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS));
    }

    /** Starts to commit marks; clients before 2.5 cannot and throw a NoSuchMethodError or NoClassDefFoundError. */
    KafkaFuture<Void> mark(Map<TopicPartition, OffsetAndMetadata> marks, int waitMs) {
        AlterConsumerGroupOffsetsOptions options = new AlterConsumerGroupOffsetsOptions().timeoutMs(waitMs);
        return client().alterConsumerGroupOffsets(SEEN + group, marks, options).all();
    }

    /** Closes the client if it is open. */
    void close(int waitMs) {
        AdminClient closed = client;
        client = null;
        if (closed == null) {
            return;
        }
        try {
            closed.close(Duration.ofMillis(waitMs));
        } catch (NoSuchMethodError before22) {
            // Its other forms join the client's thread without a limit.
            // No method reference: it would name Admin, which is not there before 2.4.
            Thread closing = new Thread(() -> closed.close(), "offset-sync-close");
            closing.setDaemon(true);
            closing.start();
        }
    }

    // The form for one group and all of its partitions: the only one that all versions have.
    private KafkaFuture<Map<TopicPartition, OffsetAndMetadata>> list(String asked, int waitMs) {
        ListConsumerGroupOffsetsOptions options = new ListConsumerGroupOffsetsOptions().timeoutMs(waitMs);
        return client().listConsumerGroupOffsets(asked, options).partitionsToOffsetAndMetadata();
    }

    private AdminClient client() {
        if (client == null) {
            client = AdminClient.create(new HashMap<>(settings));
        }
        return client;
    }

    private static Map<String, Object> settings(Map<String, ?> consumer) {
        Map<String, Object> found = new HashMap<>();
        for (Map.Entry<String, ?> each : consumer.entrySet()) {
            String name = each.getKey();
            // Names that neither knows stay: those of callback handlers and of SSL engines.
            boolean isOfConsumers = ConsumerConfig.configNames().contains(name)
                && !AdminClientConfig.configNames().contains(name);
            if (!isOfConsumers && !name.startsWith(SkipRead.PREFIX) && each.getValue() != null) {
                found.put(name, each.getValue());
            }
        }
        found.remove(AdminClientConfig.METRIC_REPORTER_CLASSES_CONFIG);
        found.remove("enable.metrics.push");
        // Every call has its own; a consumer may have one below the request timeout, an Admin client may not.
        found.remove("default.api.timeout.ms");
        Object clientId = consumer.get(AdminClientConfig.CLIENT_ID_CONFIG);
        found.put(AdminClientConfig.CLIENT_ID_CONFIG, (clientId == null ? "" : clientId) + "-skip-read");
        return found;
    }
}
