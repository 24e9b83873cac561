import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import javax.management.ObjectName;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consumers in threads, told what to do by lines of JSON, which say what is delivered to them: consumer_host.py.
 *
 * What it calls, all versions of kafka-clients from 2.1 on have.
 */
public class ConsumerHost {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Reader> READERS = new ConcurrentHashMap<>();

    public static void main(String[] words) throws Exception {
        // Before any class of its package that is not in the jar: a package has the version of its first class.
        Class.forName("offsetsync.consumer.SkipRead");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<?, ?> order = JSON.readValue(line, Map.class);
            String name = (String) order.get("name");
            if ("start".equals(order.get("do"))) {
                READERS.put(name, new Reader(name, order));
                READERS.get(name).start();
            } else {
                READERS.get(name).orders.add(order);
            }
        }
        System.exit(0);
    }

    private static synchronized void say(String name, String what, Object value) {
        Map<String, Object> said = new HashMap<>();
        said.put("name", name);
        said.put(what, value);
        try {
            System.out.println(JSON.writeValueAsString(said));
        } catch (java.io.IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static final class Reader extends Thread {
        private final Queue<Map<?, ?>> orders = new ConcurrentLinkedQueue<>();
        private final String name;
        private final Map<?, ?> told;
        private final Map<String, Long> positions = new TreeMap<>();
        private KafkaConsumer<byte[], byte[]> consumer;
        private long pauseMs;

        Reader(String name, Map<?, ?> told) {
            super("reader-" + name);
            this.name = name;
            this.told = told;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                read();
            } catch (Throwable failure) {
                say(name, "failed", failure.toString());
            }
        }

        private void read() throws Exception {
            pauseMs = ((Number) told.get("pause")).longValue();
            Properties settings = new Properties();
            settings.putAll((Map<?, ?>) told.get("settings"));
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(Collections.singletonList((String) told.get("topic")));
            while (obeys()) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                if (!records.isEmpty()) {
                    tell(records);
                    commit(records);
                    Thread.sleep(pauseMs);
                }
                tellPositions();
            }
            say(name, "metrics", metrics());
            consumer.close(Duration.ofSeconds(30));
            say(name, "closed", true);
        }

        private boolean obeys() {
            Map<?, ?> order = orders.poll();
            if (order == null) {
                return true;
            }
            if ("hurry".equals(order.get("do"))) {
                pauseMs = 0;
            } else if ("seek".equals(order.get("do"))) {
                int partition = (Integer) order.get("partition");
                consumer.seek(new TopicPartition((String) order.get("topic"), partition),
                    ((Number) order.get("offset")).longValue());
                positions.clear();
                say(name, "sought", true);
            }
            return !"stop".equals(order.get("do"));
        }

        private void tell(ConsumerRecords<byte[], byte[]> records) {
            List<Object> delivered = new ArrayList<>();
            for (ConsumerRecord<byte[], byte[]> each : records) {
                List<Object> record = new ArrayList<>();
                record.add(each.partition());
                record.add(each.offset());
                record.add(new String(each.value(), StandardCharsets.UTF_8));
                delivered.add(record);
            }
            say(name, "records", delivered);
        }

        private void commit(ConsumerRecords<byte[], byte[]> records) {
            if ("batch".equals(told.get("commits"))) {
                try {
                    consumer.commitSync();
                } catch (CommitFailedException | RetriableException late) {
                    // As an application does: the partition is given to another member, or the next commit covers it.
                    say(name, "not committed", late.toString());
                }
            } else if ("record".equals(told.get("commits"))) {
                for (ConsumerRecord<byte[], byte[]> each : records) {
                    consumer.commitSync(Collections.singletonMap(
                        new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1)));
                }
            }
        }

        private void tellPositions() {
            Map<String, Long> changed = new TreeMap<>();
            for (TopicPartition each : consumer.assignment()) {
                String partition = Integer.toString(each.partition());
                long position = consumer.position(each, Duration.ofSeconds(30));
                if (!Long.valueOf(position).equals(positions.put(partition, position))) {
                    changed.put(partition, position);
                }
            }
            if (!changed.isEmpty()) {
                say(name, "positions", changed);
            }
        }

        private Map<String, Object> metrics() throws Exception {
            Map<String, Object> found = new TreeMap<>();
            ObjectName bean = new ObjectName("offsetsync.consumer:type=skip-read,client-id=" + ObjectName.quote(name));
            if (ManagementFactory.getPlatformMBeanServer().isRegistered(bean)) {
                for (String each : new String[] {"skipped-total", "lists", "asked-total", "failed-total"}) {
                    found.put(each, ManagementFactory.getPlatformMBeanServer().getAttribute(bean, each));
                }
            }
            int threads = 0;
            for (Thread each : Thread.getAllStackTraces().keySet()) {
                threads += each.getName().contains(name + "-skip-read") ? 1 : 0;
            }
            found.put("admin threads", threads);
            return found;
        }
    }
}
