package org.apache.kafka.connect.mirror;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.converters.ByteArrayConverter;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Reads questions, a line of JSON each, and answers them with MirrorMaker's own classes and the transform in words[0].
 *
 * In MirrorMaker's package, for what makes its records is seen only there. See mirror_cases.py.
 */
public class MirrorCases {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] words) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map answer = new HashMap();
            try {
                answer(words[0], (Map) JSON.readValue(line, Map.class), answer);
            } catch (Exception problem) {
                answer.put("error", problem.getClass().getSimpleName() + ": " + problem.getMessage());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static void answer(String type, Map question, Map answer) throws Exception {
        if (question.containsKey("properties")) {
            flows((Map) question.get("properties"), answer);
            return;
        }
        if (question.containsKey("connector")) {
            answer.put("consumer", MirrorConnectorConfig.sourceConsumerConfig((Map) question.get("connector")));
            return;
        }
        Transformation transform = (Transformation) Class.forName(type).newInstance();
        answer.put("version", transform.version());
        answer.put("options", options(transform.config()));
        transform.configure((Map) question.get("options"));
        List results = new ArrayList();
        Iterator records = ((List) question.get("records")).iterator();
        while (records.hasNext()) {
            SourceRecord record = record((Map) records.next());
            ConnectRecord result = record;
            for (int left = ((Number) question.get("times")).intValue(); left > 0; left--) {
                result = transform.apply(record);
            }
            Map found = new HashMap();
            found.put("same", Boolean.valueOf(result == record));
            found.put("given", told(record));
            found.put("result", result == null ? null : told(result));
            results.add(found);
        }
        answer.put("results", results);
        transform.close();
    }

    private static SourceRecord record(Map asked) {
        String kind = (String) asked.get("kind");
        if (kind.equals("copy")) {
            ReplicationPolicy policy = new IdentityReplicationPolicy();
            if (Boolean.TRUE.equals(asked.get("renames"))) {
                policy = new DefaultReplicationPolicy();
            }
            MirrorSourceTask task = new MirrorSourceTask(null, null, (String) asked.get("cluster"), policy, null);
            SourceRecord copy = task.convertRecord(consumed(asked));
            Object text = asked.get("text");
            if (text != null) {
                copy.headers().addString((String) text, "dc2");
            }
            return copy;
        }
        Map partition = (Map) asked.get("partition");
        if (kind.equals("checkpoint")) {
            partition = new Checkpoint("billing", new TopicPartition("orders", 3), 5L, 6L, "").connectPartition();
        } else if (kind.equals("heartbeat")) {
            partition = new Heartbeat("dc1", "dc2", 7L).connectPartition();
        }
        Map offset = kind.equals("raw") ? (Map) asked.get("offset") : MirrorUtils.wrapOffset(7L);
        return new SourceRecord(partition, offset, "any", Integer.valueOf(0), Schema.BYTES_SCHEMA, new byte[] {1},
            Schema.BYTES_SCHEMA, new byte[] {2});
    }

    private static ConsumerRecord consumed(Map asked) {
        RecordHeaders headers = new RecordHeaders();
        Iterator pairs = ((List) asked.get("headers")).iterator();
        while (pairs.hasNext()) {
            List pair = (List) pairs.next();
            headers.add((String) pair.get(0), bytes(pair.get(1)));
        }
        return new ConsumerRecord((String) asked.get("topic"), ((Number) asked.get("partition")).intValue(),
            ((Number) asked.get("offset")).longValue(), ((Number) asked.get("timestamp")).longValue(),
            TimestampType.CREATE_TIME, 0, 0, bytes(asked.get("key")), bytes(asked.get("value")), headers,
            Optional.empty());
    }

    /** What of a record reaches the target's log, its headers as ByteArrayConverter writes them. */
    private static Map told(ConnectRecord record) {
        ByteArrayConverter converter = new ByteArrayConverter();
        List headers = new ArrayList();
        Iterator each = record.headers().iterator();
        while (each.hasNext()) {
            Header header = (Header) each.next();
            List pair = new ArrayList();
            pair.add(header.key());
            Schema schema = header.schema();
            boolean isBytes = schema.type() == Schema.Type.BYTES;
            pair.add(!isBytes ? schema.type().getName()
                : text(converter.fromConnectHeader(record.topic(), header.key(), schema, header.value())));
            headers.add(pair);
        }
        Map told = new HashMap();
        told.put("topic", record.topic());
        told.put("partition", record.kafkaPartition());
        told.put("timestamp", record.timestamp());
        told.put("key", text(converter.fromConnectData(record.topic(), record.keySchema(), record.key())));
        told.put("value", text((byte[]) record.value()));
        told.put("headers", headers);
        return told;
    }

    /** What MirrorMaker makes of its properties: by flow the worker's and the connectors' settings. */
    private static void flows(Map properties, Map answer) {
        MirrorMakerConfig config = new MirrorMakerConfig(properties);
        Iterator pairs = config.clusterPairs().iterator();
        while (pairs.hasNext()) {
            SourceAndTarget pair = (SourceAndTarget) pairs.next();
            Map settings = config.connectorBaseConfig(pair, MirrorSourceConnector.class);
            Map flow = new HashMap();
            flow.put("enabled", settings.get("enabled"));
            flow.put("connector", settings);
            flow.put("checkpoints", config.connectorBaseConfig(pair, MirrorCheckpointConnector.class));
            flow.put("worker", config.workerConfig(pair));
            flow.put("consumer", MirrorConnectorConfig.sourceConsumerConfig(settings));
            answer.put(pair.toString(), flow);
        }
    }

    private static Map options(ConfigDef config) {
        Map options = new HashMap();
        Iterator keys = config.configKeys().values().iterator();
        while (keys.hasNext()) {
            ConfigDef.ConfigKey key = (ConfigDef.ConfigKey) keys.next();
            options.put(key.name, key.defaultValue);
        }
        return options;
    }

    private static byte[] bytes(Object text) {
        return text == null ? null : Base64.getDecoder().decode((String) text);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
