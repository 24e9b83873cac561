package offsetsync.consumer;

import java.util.Map;

/** The interceptor, where an Error comes out of what it uses. */
public class FailingSkipRead<K, V> extends SkipRead<K, V> {
    @Override
    GroupCommits open(String groupId, Map<String, ?> settings) {
        return new GroupCommits(groupId, settings) {
            @Override
            Answer read(String cluster, int waitMs) {
                throw new NoClassDefFoundError("made up");
            }
        };
    }
}
