import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * A broker's side of Amazon MSK's tokens, without AWS: it takes every presigned request to connect that has not
 * expired, of any access key, and does not verify the signature. The principal is the access key's id.
 */
public class PresignedTokens implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
    }

    @Override
    public void close() {
    }

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback) {
                validate((OAuthBearerValidatorCallback) callback);
            } else if (!(callback instanceof OAuthBearerExtensionsValidatorCallback)) {
                throw new UnsupportedCallbackException(callback);
            }
        }
    }

    private static void validate(OAuthBearerValidatorCallback callback) {
        try {
            callback.token(read(callback.tokenValue()));
        } catch (RuntimeException problem) {
            callback.error("invalid_token: " + problem, null, null);
        }
    }

    private static OAuthBearerToken read(String value) {
        URI url = URI.create(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
        Map<String, String> given = new HashMap<>();
        for (String pair : url.getRawQuery().split("&")) {
            String[] parts = pair.split("=", 2);
            given.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
        require(url.getScheme().equals("https") && url.getHost().matches("kafka\\.[a-z0-9-]+\\.amazonaws\\.com"), "host");
        require(given.get("Action").equals("kafka-cluster:Connect"), "action");
        require(given.get("X-Amz-Algorithm").equals("AWS4-HMAC-SHA256"), "algorithm");
        require(given.get("X-Amz-Signature").matches("[0-9a-f]{64}"), "signature");
        String[] scope = given.get("X-Amz-Credential").split("/");
        require(scope.length == 5 && url.getHost().equals("kafka." + scope[2] + ".amazonaws.com"), "credential");
        require(scope[3].equals("kafka-cluster") && scope[4].equals("aws4_request"), "scope");
        long signed = LocalDateTime.parse(given.get("X-Amz-Date"), DATE).toInstant(ZoneOffset.UTC).toEpochMilli();
        long ends = signed + 1000 * Long.parseLong(given.get("X-Amz-Expires"));
        require(System.currentTimeMillis() < ends, "expired");
        return new Presigned(value, scope[0], signed, ends);
    }

    private static void require(boolean isRight, String what) {
        if (!isRight) {
            throw new IllegalArgumentException(what);
        }
    }

    private record Presigned(String value, String principalName, Long startTimeMs, long lifetimeMs)
            implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }
    }
}
