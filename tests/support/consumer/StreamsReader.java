import java.nio.charset.StandardCharsets;
import java.util.Properties;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;

/** An application of Kafka Streams that prints the values of a topic until its standard input ends. */
public class StreamsReader {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("application.id", words[1]);
        settings.put("state.dir", words[3]);
        settings.put("group.protocol", words[4]);
        settings.put("processing.guarantee", words[5]);
        settings.put("commit.interval.ms", "100");
        settings.put("main.consumer.interceptor.classes", "offsetsync.consumer.SkipRead");
        settings.put("consumer.auto.offset.reset", "earliest");
        settings.put("consumer.isolation.level", "read_committed");
        settings.put("consumer.max.poll.records", "10");
        long pause = Long.parseLong(words[6]);
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[2], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())).foreach((key, value) -> {
            System.out.println(new String(value, StandardCharsets.UTF_8));
            sleep(pause);
        });
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        while (System.in.read() >= 0) { }
        // Else its members stay in the group until their session ends, and the next application waits for that.
        streams.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
