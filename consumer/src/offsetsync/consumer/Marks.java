package offsetsync.consumer;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commits that show that the group's consumers skip: what Offset Sync reads before it promises a move without repeats.
 *
 * <p><b>Which way this errs.</b> A mark below the group's commit, or none, withholds that promise. So while it polls, a
 * consumer marks a partition only if it has had records or an acknowledged commit of it within the last minute: an older
 * one may be another member's by now. As it closes it marks all that it has read since its last marks, but not below a
 * mark that stands: another member, to which the partition went, may have read on. No failure here reaches the records.
 */
final class Marks {
    private static final Logger LOG = LoggerFactory.getLogger(Marks.class);
    private static final long EVERY_MS = 60_000;

    private final GroupCommits commits;
    private final String version;
    private final String clientId;
    private final Map<TopicPartition, long[]> touched = new ConcurrentHashMap<>();
    private final Set<TopicPartition> marked = new HashSet<>();
    private KafkaFuture<Void> pending;
    private volatile boolean areWanted;
    private boolean hasFailed;
    private long writtenAt;

    Marks(GroupCommits commits, boolean areWanted, String clientId) {
        this.commits = commits;
        this.areWanted = areWanted;
        this.clientId = clientId;
        String found = Marks.class.getPackage() == null ? null : Marks.class.getPackage().getImplementationVersion();
        this.version = found == null ? "unknown" : found;
    }

    /** Returns false once marks are refused, or switched off. */
    boolean areWanted() {
        return areWanted;
    }

    /** Notes that a partition is this consumer's, and its next offset; any thread may call this. */
    void touch(TopicPartition place, long next, long now) {
        if (areWanted) {
            touched.put(place, new long[] {next, now});
        }
    }

    /** Starts to write marks if a minute has passed or a partition has none. Waits for nothing and throws nothing. */
    void write(ReadLists lists, int waitMs, long now) {
        boolean isDue = now - writtenAt >= EVERY_MS;
        if (!areWanted || pending != null && !pending.isDone() && !isDue) {
            return;
        }
        try {
            settle(0);
            if (areWanted && (isDue || !marked.containsAll(touched.keySet()))) {
                writtenAt = now;
                start(lists, waitMs, now - EVERY_MS);
            }
        } catch (Throwable failure) {
            failed(failure);
        }
    }

    /** Writes the marks of what was read since the last ones, above those that stand, and waits for all of it. */
    void writeLast(ReadLists lists, int waitMs) {
        try {
            settle(waitMs);
            if (areWanted && !touched.isEmpty()) {
                Map<TopicPartition, OffsetAndMetadata> standing = commits.marks(waitMs);
                touched.entrySet().removeIf(each -> stands(standing.get(each.getKey()), each.getValue()[0]));
                start(lists, waitMs, Long.MIN_VALUE);
                settle(waitMs);
            }
        } catch (Throwable failure) {
            failed(failure);
        }
    }

    private static boolean stands(OffsetAndMetadata mark, long next) {
        return mark != null && mark.offset() >= next;
    }

    /** Starts to write the marks of what was read after {@code since}. */
    private void start(ReadLists lists, int waitMs, long since) {
        Map<TopicPartition, OffsetAndMetadata> marks = new HashMap<>();
        touched.forEach((place, nextAndTime) -> {
            if (nextAndTime[1] > since && touched.remove(place, nextAndTime)) {
                marks.put(place, new OffsetAndMetadata(nextAndTime[0], text(lists.of(place))));
            }
        });
        marked.addAll(marks.keySet());
        pending = marks.isEmpty() ? null : commits.mark(marks, waitMs);
    }

    /** Takes the outcome of the last marks. What is not done after {@code waitMs} has failed. */
    private void settle(int waitMs) {
        KafkaFuture<Void> written = pending;
        pending = null;
        if (written == null) {
            return;
        }
        try {
            written.get(waitMs, TimeUnit.MILLISECONDS);
            hasFailed = false;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof AuthorizationException) {
                refused(failure.getCause());
            } else {
                failed(failure.getCause());
            }
        } catch (TimeoutException failure) {
            failed(failure);
        }
    }

    /** Logs the first failure of a series. The next marks are due in a minute, and get another client. */
    private void failed(Throwable failure) {
        commits.close();
        if (!hasFailed) {
            hasFailed = true;
            LOG.warn("Marks of group {} cannot be written, the next try is in a minute: {}", commits.group,
                String.valueOf(failure));
        }
    }

    private void refused(Throwable failure) {
        areWanted = false;
        touched.clear();
        LOG.warn("Group {} skips without marks: its principal needs Read on group {}{} ({})", commits.group,
            GroupCommits.SEEN, commits.group, String.valueOf(failure));
    }

    private String text(Progress progress) {
        long skipped = progress == null ? 0 : progress.skipped();
        String start = progress == null ? "-" : progress.listStart();
        return "offset-sync/1 " + version + " skipped=" + skipped + " list=" + start + " by " + clientId + GroupCommits.END;
    }
}
