import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Spring's listener container, which prints the values of a topic until its standard input ends.
 *
 * The listener fails with every tenth record at first, and Spring seeks back to it.
 */
public class SpringReader {
    public static void main(String[] words) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", words[0]);
        settings.put("group.id", words[1]);
        settings.put("group.protocol", words[3]);
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", "10");
        settings.put("interceptor.classes", "offsetsync.consumer.SkipRead");
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        Set<String> failed = new HashSet<>();
        ContainerProperties properties = new ContainerProperties(words[2]);
        properties.setAckMode(ContainerProperties.AckMode.valueOf(words[4]));
        properties.setMessageListener((MessageListener<byte[], byte[]>) record -> {
            String value = new String(record.value(), StandardCharsets.UTF_8);
            synchronized (failed) {
                if (record.offset() % 10 == 0 && failed.add(value)) {
                    throw new IllegalStateException("made up");
                }
                System.out.println(value);
            }
        });
        ConcurrentMessageListenerContainer<byte[], byte[]> container =
            new ConcurrentMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(settings), properties);
        container.setConcurrency(2);
        container.setCommonErrorHandler(new DefaultErrorHandler(new FixedBackOff(0, 3)));
        container.start();
        while (System.in.read() >= 0) { }
        container.stop();
        System.exit(0);
    }
}
