import java.nio.charset.StandardCharsets;
import java.util.Map;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Stamps what MirrorMaker 2 copies with the cluster and the offset it comes from; a record that was stamped stays as it is.
 *
 * Only for benchmarks/mirrormaker.py, which compiles it with the Janino that comes with Spark: hence no generics.
 */
public class StampOrigin implements Transformation {
    public ConnectRecord apply(ConnectRecord record) {
        SourceRecord copy = (SourceRecord) record;
        Headers headers = copy.headers();
        if (headers.lastWithName("IDC") == null) {
            headers.addBytes("IDC", text(copy.sourcePartition().get("cluster")));
            headers.addBytes("Offset", text(copy.sourceOffset().get("offset")));
        }
        return copy;
    }

    private static byte[] text(Object value) {
        return value.toString().getBytes(StandardCharsets.UTF_8);
    }

    public ConfigDef config() {
        return new ConfigDef();
    }

    public void configure(Map settings) {
    }

    public void close() {
    }
}
