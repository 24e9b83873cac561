import java.util.Properties;

import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

/**
 * An application that counts the records of a topic by the first letter of their values, behind a repartition topic,
 * until its standard input ends. It prints each record when it reads it, and again when it counts it.
 */
public class StreamsCounter {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("application.id", words[1]);
        settings.put("state.dir", words[4]);
        settings.put("group.protocol", words[5]);
        settings.put("processing.guarantee", words[6]);
        settings.put("commit.interval.ms", "200");
        settings.put("num.stream.threads", "1");
        settings.put("auto.offset.reset", "earliest");
        Serde<String> text = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[2], Consumed.with(text, text))
            .map((key, value) -> {
                System.out.println("read " + value);
                return new KeyValue<>(value.substring(0, 1), value);
            })
            .groupByKey(Grouped.with("by-letter", text, text))
            .aggregate(() -> "0", (letter, value, count) -> {
                System.out.println("counted " + value);
                return Integer.toString(Integer.parseInt(count) + 1);
            }, Materialized.<String, String>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(text).withValueSerde(text).withCachingDisabled())
            .toStream().to(words[3], Produced.with(text, text));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        while (System.in.read() >= 0) { }
        // Else its members stay in the group until their session ends.
        streams.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }
}
