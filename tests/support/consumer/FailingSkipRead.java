package offsetsync.consumer;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** The interceptor, where an Error comes out of what it uses, for the first {@code failing.questions} or always. */
public class FailingSkipRead<K, V> extends SkipRead<K, V> {
    @Override
    GroupCommits open(String groupId, Map<String, ?> settings) {
        Object most = settings.get("failing.questions");
        return new GroupCommits(groupId, settings) {
            private int left = most == null ? Integer.MAX_VALUE : Integer.parseInt(most.toString());

            @Override
            Answer read(String cluster, int waitMs)
                    throws InterruptedException, ExecutionException, TimeoutException {
                if (left-- > 0) {
                    throw new NoClassDefFoundError("made up");
                }
                return super.read(cluster, waitMs);
            }
        };
    }
}
