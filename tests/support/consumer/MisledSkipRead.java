package offsetsync.consumer;

import java.util.HashMap;
import java.util.Map;

/** The interceptor, where its Admin client is led to the servers of another cluster. */
public class MisledSkipRead<K, V> extends SkipRead<K, V> {
    @Override
    GroupCommits open(String groupId, Map<String, ?> settings) {
        Map<String, Object> misled = new HashMap<>(settings);
        misled.put("bootstrap.servers", settings.get("misled.to"));
        return new GroupCommits(groupId, misled);
    }
}
