import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A sink of Kafka Connect that prints the values of its topics. */
public class PrintingSink extends SinkConnector {
    private Map<String, String> settings;

    @Override
    public void start(Map<String, String> given) {
        settings = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Printer.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return new ArrayList<>(Collections.nCopies(most, settings));
    }

    @Override
    public void stop() { }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public String version() {
        return "1";
    }

    /** Prints the values of its partitions. */
    public static class Printer extends SinkTask {
        @Override
        public void start(Map<String, String> given) { }

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord each : records) {
                System.out.println(new String((byte[]) each.value(), StandardCharsets.UTF_8));
            }
        }

        @Override
        public void stop() { }

        @Override
        public String version() {
            return "1";
        }
    }
}
