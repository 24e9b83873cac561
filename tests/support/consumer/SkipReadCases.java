package offsetsync.consumer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

import javax.management.ObjectName;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ClusterResource;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.common.record.TimestampType;

/** Reads questions, a line of JSON each, and answers them with one interceptor without a broker: skip_read_cases.py. */
public class SkipReadCases {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Case<byte[], byte[]> subject;
    private FakeCommits commits;

    public static void main(String[] words) throws Exception {
        SkipReadCases cases = new SkipReadCases();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> answer = new TreeMap<>();
            cases.answer(map(JSON.readValue(line, Map.class)), answer);
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private void answer(Map<String, Object> question, Map<String, Object> answer) throws Exception {
        if (question.containsKey("texts")) {
            List<String> readings = new ArrayList<>();
            for (Object text : (List<?>) question.get("texts")) {
                ReadList list = ReadList.parse((String) text);
                readings.add(
                    list == null ? null : list.cluster + " " + list.start + " " + list.epoch + " " + list.ranges());
            }
            answer.put("readings", readings);
            return;
        }
        if (question.containsKey("close") && subject != null) {
            subject.close();
        }
        if (question.containsKey("open")) {
            commits = question.containsKey("keeps") ? new FakeCommits(commits) : new FakeCommits();
            subject = new Case<>(commits);
            subject.configure(map(question.get("open")));
        }
        if (question.containsKey("set")) {
            map(question.get("set")).forEach(commits::set);
        }
        if (question.containsKey("cluster")) {
            subject.onUpdate(new ClusterResource((String) question.get("cluster")));
        }
        if (question.containsKey("poll")) {
            poll(map(question.get("poll")), question.get("next"), question.containsKey("breaks"), answer);
        }
        answer.put("metrics", metrics());
        if (commits == null) {
            return;
        }
        answer.put("reads", commits.reads);
        answer.put("marks", commits.marks);
        answer.put("uses", commits.uses);
    }

    private void poll(Map<String, Object> polled, Object next, boolean breaks, Map<String, Object> answer)
            throws Exception {
        Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> given = new HashMap<>();
        polled.forEach((name, records) -> given.put(place(name), records(place(name), (List<?>) records, breaks)));
        ConsumerRecords<byte[], byte[]> result = subject.onConsume(consumerRecords(given, offsets(next)));
        answer.put("interrupted", Thread.interrupted());
        Map<String, List<Long>> delivered = new TreeMap<>();
        for (TopicPartition each : result.partitions()) {
            List<Long> offsets = new ArrayList<>();
            for (int i = 0; i < result.records(each).size(); i++) {
                offsets.add(result.records(each).get(i).offset());
            }
            delivered.put(each.toString(), offsets);
        }
        answer.put("delivered", delivered);
    }

    @SuppressWarnings({"unchecked", "deprecation"})
    private static ConsumerRecords<byte[], byte[]> consumerRecords(
            Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> given, Object next) throws Exception {
        for (Constructor<?> each : ConsumerRecords.class.getConstructors()) {
            if (each.getParameterCount() == 2) {
                return (ConsumerRecords<byte[], byte[]>) each.newInstance(given, next);
            }
        }
        return new ConsumerRecords<>(given);
    }

    private static List<ConsumerRecord<byte[], byte[]>> records(TopicPartition place, List<?> told, boolean breaks) {
        List<ConsumerRecord<byte[], byte[]>> records = breaks ? new Breaking<>() : new ArrayList<>();
        for (Object each : told) {
            Number offset = (Number) ((List<?>) each).get(0);
            Integer epoch = (Integer) ((List<?>) each).get(1);
            records.add(new ConsumerRecord<>(place.topic(), place.partition(), offset.longValue(), 1L,
                TimestampType.CREATE_TIME, 1, 1, new byte[] {7}, new byte[] {7}, new RecordHeaders(),
                Optional.ofNullable(epoch)));
        }
        return records;
    }

    private static Map<TopicPartition, OffsetAndMetadata> offsets(Object told) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        if (told != null) {
            map(told).forEach((name, value) -> found.put(place(name), offset(value)));
        }
        return found;
    }

    private static OffsetAndMetadata offset(Object told) {
        if (told instanceof List) {
            List<?> both = (List<?>) told;
            return new OffsetAndMetadata(((Number) both.get(0)).longValue(), (String) both.get(1));
        }
        return told == null ? null : new OffsetAndMetadata(((Number) told).longValue());
    }

    private static Map<String, Object> metrics() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        ObjectName all = new ObjectName("offsetsync.consumer:*");
        for (ObjectName bean : ManagementFactory.getPlatformMBeanServer().queryNames(all, null)) {
            for (String each : new String[] {"skipped-total", "lists", "asked-total", "failed-total"}) {
                found.put(each, ManagementFactory.getPlatformMBeanServer().getAttribute(bean, each));
            }
        }
        return found;
    }

    private static TopicPartition place(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    private static Map<String, Object> map(Object told) {
        Map<String, Object> found = new TreeMap<>();
        ((Map<?, ?>) told).forEach((key, value) -> found.put(key.toString(), value));
        return found;
    }

    /** The interceptor with commits and a clock that the test sets. */
    private static final class Case<K, V> extends SkipRead<K, V> {
        private final FakeCommits fake;

        Case(FakeCommits fake) {
            this.fake = fake;
        }

        @Override
        GroupCommits open(String groupId, Map<String, ?> settings) {
            return fake;
        }

        @Override
        long now() {
            return fake.now;
        }
    }

    /** A list that cannot be iterated, as if the memory ended meanwhile. */
    private static final class Breaking<E> extends ArrayList<E> {
        private static final long serialVersionUID = 1;

        @Override
        public Iterator<E> iterator() {
            throw new OutOfMemoryError("made up");
        }
    }

    private static final class FakeCommits extends GroupCommits {
        private final List<Integer> reads = new ArrayList<>();
        private final List<Map<String, Object>> marks = new ArrayList<>();
        private final Map<TopicPartition, OffsetAndMetadata> lists = new HashMap<>();
        private final List<Map<String, Object>> uses = new ArrayList<>();
        private final Map<TopicPartition, OffsetAndMetadata> own = new HashMap<>();
        private final Map<TopicPartition, OffsetAndMetadata> used = new HashMap<>();
        private final Map<TopicPartition, OffsetAndMetadata> seen = new HashMap<>();
        private long now = 1_000_000;
        private String failure = "";

        FakeCommits() {
            super("billing", new HashMap<>());
        }

        /** What is committed outlives a consumer. */
        FakeCommits(FakeCommits before) {
            this();
            lists.putAll(before.lists);
            own.putAll(before.own);
            used.putAll(before.used);
        }

        void set(String what, Object value) {
            switch (what) {
                case "now": now = ((Number) value).longValue(); break;
                case "failure": failure = (String) value; break;
                case "lists": lists.putAll(offsets(value)); break;
                case "own": own.putAll(offsets(value)); break;
                case "used": used.putAll(offsets(value)); break;
                case "seen": seen.putAll(offsets(value)); break;
                default: throw new IllegalArgumentException(what);
            }
        }

        @Override
        Answer read(String asked, int waitMs) throws InterruptedException, TimeoutException {
            reads.add(waitMs);
            switch (failure) {
                case "timeout": throw new TimeoutException();
                case "interrupted": throw new InterruptedException();
                case "error": throw new NoClassDefFoundError("made up");
                default: return new Answer(lists, own, new HashMap<>(used));
            }
        }

        @Override
        void use(Map<TopicPartition, OffsetAndMetadata> written, int waitMs)
                throws ExecutionException {
            uses.add(told(written));
            switch (failure) {
                case "use refused": throw new ExecutionException(new GroupAuthorizationException("g"));
                default: used.putAll(written);
            }
        }

        @Override
        KafkaFuture<Void> mark(Map<TopicPartition, OffsetAndMetadata> written, int waitMs) {
            marks.add(told(written));
            KafkaFutureImpl<Void> future = new KafkaFutureImpl<>();
            future.complete(null);
            seen.putAll(written);
            return future;
        }

        @Override
        Map<TopicPartition, OffsetAndMetadata> marks(int waitMs) {
            return seen;
        }

        private static Map<String, Object> told(Map<TopicPartition, OffsetAndMetadata> written) {
            Map<String, Object> told = new TreeMap<>();
            written.forEach((place, commit) -> {
                List<Object> both = new ArrayList<>();
                both.add(commit.offset());
                both.add(commit.metadata());
                told.put(place.toString(), both);
            });
            return told;
        }

        @Override
        void close() {
        }
    }
}
