import java.util.Properties;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.ForeachAction;

/** An application with group.protocol=streams that reads a topic until its standard input ends. */
public class StreamsApplication {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("application.id", words[1]);
        settings.put("state.dir", words[3]);
        settings.put("group.protocol", "streams");
        settings.put("auto.offset.reset", "earliest");
        settings.put("commit.interval.ms", "200");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[2], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())).foreach(new ForeachAction() {
            public void apply(Object key, Object value) { }
        });
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        while (System.in.read() >= 0) { }
        streams.close();
    }
}
