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
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads and writes the commits that belong to a group, with an Admin client that it opens on demand.
 *
 * <p>The client has the consumer's settings without those that only a consumer knows, and without its interceptors and
 * metrics reporters. Its thread is a daemon. A client that failed is closed, and the next call opens another one: an
 * Admin client whose thread has died never recovers. Every wait has a limit.
 */
class GroupCommits {
    private static final Logger LOG = LoggerFactory.getLogger(GroupCommits.class);
    /** The read lists. Offset Sync writes them. */
    static final String READ = "__offset-sync.read.";
    /** From which offset on the group uses a list ({@link Progress}). */
    static final String USED = "__offset-sync.used.";
    /** The marks ({@link Marks}). */
    static final String SEEN = "__offset-sync.seen.";
    /** Ends each text: clients of librdkafka take the metadata of a commit for a C string. */
    static final String END = "\0";

    /** Never zero, which would join the client's thread without a limit. */
    private static final Duration CLOSE_WAIT = Duration.ofMillis(100);

    final String group;
    private final Map<String, Object> settings;
    private AdminClient client;

    GroupCommits(String group, Map<String, ?> consumer) {
        this.group = group;
        this.settings = settings(consumer);
    }

    /** What is committed: the read lists, the group's own offsets, and its uses of lists. Values may be null. */
    static final class Answer {
        final Map<TopicPartition, OffsetAndMetadata> lists;
        final Map<TopicPartition, OffsetAndMetadata> own;
        final Map<TopicPartition, OffsetAndMetadata> used;

        Answer(Map<TopicPartition, OffsetAndMetadata> lists, Map<TopicPartition, OffsetAndMetadata> own,
                Map<TopicPartition, OffsetAndMetadata> used) {
            this.lists = lists;
            this.own = own;
            this.used = used;
        }
    }

    /** Reads what is committed at this cluster, within {@code waitMs}; fails if the client reaches another cluster. */
    Answer read(String cluster, int waitMs) throws InterruptedException, ExecutionException, TimeoutException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        Answer answer = null;
        try {
            KafkaFuture<String> reached =
                client().describeCluster(new DescribeClusterOptions().timeoutMs(waitMs)).clusterId();
            KafkaFuture<Map<TopicPartition, OffsetAndMetadata>> lists = list(READ + group, waitMs);
            KafkaFuture<Map<TopicPartition, OffsetAndMetadata>> own = list(group, waitMs);
            KafkaFuture<Map<TopicPartition, OffsetAndMetadata>> used = list(USED + group, waitMs);
            if (!cluster.equals(by(deadline, reached))) {
                throw new IllegalStateException("bootstrap.servers leads its Admin client to cluster "
                    + by(deadline, reached) + ", and the consumer reads from cluster " + cluster);
            }
            answer = new Answer(by(deadline, lists), by(deadline, own), by(deadline, used));
            return answer;
        } finally {
            if (answer == null) {
                close();
            }
        }
    }

    /** Commits which lists the group uses, and waits for it. */
    void use(Map<TopicPartition, OffsetAndMetadata> uses, int waitMs)
            throws InterruptedException, ExecutionException, TimeoutException {
        boolean isWritten = false;
        try {
            write(USED + group, uses, waitMs).get(waitMs, TimeUnit.MILLISECONDS);
            isWritten = true;
        } finally {
            if (!isWritten) {
                close();
            }
        }
    }

    /** Starts to commit marks. */
    KafkaFuture<Void> mark(Map<TopicPartition, OffsetAndMetadata> marks, int waitMs) {
        return write(SEEN + group, marks, waitMs);
    }

    /** Reads the marks that stand. */
    Map<TopicPartition, OffsetAndMetadata> marks(int waitMs)
            throws InterruptedException, ExecutionException, TimeoutException {
        return list(SEEN + group, waitMs).get(waitMs, TimeUnit.MILLISECONDS);
    }

    /** Closes the client if it is open. Throws nothing. */
    void close() {
        AdminClient closed = client;
        client = null;
        try {
            if (closed != null) {
                closed.close(CLOSE_WAIT);
            }
        } catch (Throwable failure) {
            LOG.warn("The Admin client of group {} cannot be closed", group, failure);
        }
    }

    private KafkaFuture<Void> write(String written, Map<TopicPartition, OffsetAndMetadata> commits, int waitMs) {
        AlterConsumerGroupOffsetsOptions options = new AlterConsumerGroupOffsetsOptions().timeoutMs(waitMs);
        return client().alterConsumerGroupOffsets(written, commits, options).all();
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

    private static <T> T by(long deadline, KafkaFuture<T> future)
            throws InterruptedException, ExecutionException, TimeoutException {
        return future.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
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
