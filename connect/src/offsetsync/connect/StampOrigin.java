package offsetsync.connect;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.connect.components.Versioned;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.header.Headers;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stamps what MirrorMaker 2 copies with where it was produced, and leaves out what is a copy already.
 *
 * <p>A copy gets three headers, all UTF-8 text: {@code IDC}, the cluster where the record was produced, {@code Offset},
 * its offset there, and {@code Place}, its topic and partition there ({@code orders-3}). A record is one of these:
 * <ul>
 * <li><b>No copy</b>: its source partition lacks cluster, topic or partition, or names a group, or its source offset
 * lacks {@code offset}, as with the records of the Checkpoint and Heartbeat connectors, which get the same transforms.
 * It passes as it is.
 * <li><b>Mirrored</b>: it has a valid stamp, so it was copied into the log that it is read from. It is dropped, or with
 * {@code on.mirrored=pass} passes as it is, with the stamp of its first origin.
 * <li><b>Native</b>: all others. It was produced where it is read, and is stamped. What it has under these names goes:
 * Kafka Streams, Camel and others hand the headers of what they read on to what they write.
 * </ul>
 *
 * <p><b>A stamp is valid</b> where Offset Sync's index reads one. Of a header that repeats the last counts; the origin
 * has at most 249 bytes, the offset is digits below 2^62, and the place, where {@code place.header} names one, is the
 * topic and partition that the record is read from, with or without its own time ({@code orders-3@1700000000000}). Of
 * what DefaultReplicationPolicy has renamed ({@code dc1.orders}) it may also be the name at the origin, one hop away,
 * where that is called as its alias is. What names this very cluster and an offset above its own cannot be a copy.
 *
 * <p><b>Which way this errs.</b> A dropped record that is no copy is lost without notice; a copy that is copied on
 * is there twice. So in doubt (a header that cannot be read, one that lacks, another place, another time) a record is
 * native. That makes no loop: the next flow knows what is stamped here as mirrored, so it goes one step too far and no
 * more. For that all flows need this transform with the same headers, behind any that changes topic or partition.
 * Left over is an application that hands all three headers on into the very topic and partition that they name.
 *
 * <p>The record that is given is never changed: Connect applies the chain to it again after a retriable error, and its
 * own stamp would pass for a mirrored one. What this very flow has stamped passes as it is. No generics, for Janino.
 */
public class StampOrigin implements Transformation, Versioned {
    private static final Logger LOG = LoggerFactory.getLogger(StampOrigin.class);

    private static final String ORIGIN = "origin";
    private static final String ORIGIN_HEADER = "origin.header";
    private static final String OFFSET_HEADER = "offset.header";
    private static final String PLACE_HEADER = "place.header";
    private static final String ON_MIRRORED = "on.mirrored";
    private static final String DROP = "drop";
    private static final ConfigDef.Validator NOT_NULL = new ConfigDef.NonNullValidator();
    private static final ConfigDef.Validator NAME = ConfigDef.CompositeValidator.of(
        new ConfigDef.Validator[] {NOT_NULL, new ConfigDef.NonEmptyString()});
    private static final ConfigDef CONFIG = new ConfigDef()
        .define(ORIGIN, ConfigDef.Type.STRING, null, new ConfigDef.NonEmptyString(), ConfigDef.Importance.MEDIUM,
            "What the origin header says of the source cluster; by default the connector's alias of it.")
        .define(ORIGIN_HEADER, ConfigDef.Type.STRING, "IDC", NAME, ConfigDef.Importance.LOW,
            "Header that names the cluster where a record was produced.")
        .define(OFFSET_HEADER, ConfigDef.Type.STRING, "Offset", NAME, ConfigDef.Importance.LOW,
            "Header with the record's offset there, in digits.")
        .define(PLACE_HEADER, ConfigDef.Type.STRING, "Place", NOT_NULL, ConfigDef.Importance.LOW,
            "Header with topic and partition there, as orders-3. Empty: none, and headers handed on pass for a stamp.")
        .define(ON_MIRRORED, ConfigDef.Type.STRING, DROP, ConfigDef.ValidString.in(new String[] {DROP, "pass"}),
            ConfigDef.Importance.HIGH,
            "A copy is left out (drop: all pairs of clusters have flows), or keeps its stamp (pass: no cycles).");

    private static final int NATIVE = 0;
    private static final int MIRRORED = 1;
    private static final int STAMPED = 2;

    /** A topic's name has at most 249 characters; an origin has no more either. */
    private static final int NAME_BYTES = 249;
    private static final int PLACE_BYTES = NAME_BYTES + "-2147483647@-9223372036854775808".length();
    private static final long LARGEST_OFFSET = (1L << 62) - 1;
    private static final int OFFSET_BYTES = Long.toString(LARGEST_OFFSET).length();

    private final Map told = new HashMap();
    private String origin;
    private String originHeader;
    private String offsetHeader;
    private String placeHeader;
    private boolean drops;

    public ConfigDef config() {
        return CONFIG;
    }

    /** The version of the jar; Connect wants no null. */
    public String version() {
        String version = StampOrigin.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }

    /** Takes the options; a ConfigException names the one that is wrong. */
    public void configure(Map settings) {
        Map values = CONFIG.parse(settings);
        origin = (String) values.get(ORIGIN);
        originHeader = (String) values.get(ORIGIN_HEADER);
        offsetHeader = (String) values.get(OFFSET_HEADER);
        placeHeader = (String) values.get(PLACE_HEADER);
        drops = DROP.equals(values.get(ON_MIRRORED));
        if (origin != null && origin.getBytes(StandardCharsets.UTF_8).length > NAME_BYTES) {
            throw new ConfigException(ORIGIN, origin, "has more than " + NAME_BYTES + " bytes");
        }
        if (offsetHeader.equals(originHeader)) {
            throw new ConfigException(OFFSET_HEADER, offsetHeader, "is the name of " + ORIGIN_HEADER + " too");
        }
        if (placeHeader.equals(originHeader) || placeHeader.equals(offsetHeader)) {
            throw new ConfigException(PLACE_HEADER, placeHeader, "is the name of another of the three headers too");
        }
    }

    public void close() { }

    /** Returns a stamped copy of the record, the record itself, or null where it is to be dropped. */
    public ConnectRecord apply(ConnectRecord record) {
        if (!isCopy(record)) {
            return record;
        }
        SourceRecord copy = (SourceRecord) record;
        String here = origin == null ? (String) copy.sourcePartition().get("cluster") : origin;
        int kind = kind(copy, here);
        if (kind == NATIVE) {
            return stamped(record, here, Long.toString(offset(copy)), place(copy));
        }
        return kind == MIRRORED && drops ? null : record;
    }

    private ConnectRecord stamped(ConnectRecord record, String here, String offset, String place) {
        Headers headers = record.headers().duplicate();
        headers.remove(originHeader).addBytes(originHeader, here.getBytes(StandardCharsets.UTF_8));
        headers.remove(offsetHeader).addBytes(offsetHeader, offset.getBytes(StandardCharsets.UTF_8));
        if (!placeHeader.isEmpty()) {
            headers.remove(placeHeader).addBytes(placeHeader, place.getBytes(StandardCharsets.UTF_8));
        }
        return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
            record.valueSchema(), record.value(), record.timestamp(), headers);
    }

    private int kind(SourceRecord copy, String here) {
        Object originValue = last(copy, originHeader);
        Object offsetValue = last(copy, offsetHeader);
        if (originValue == null || offsetValue == null) {
            return NATIVE;
        }
        String from = text(originValue, NAME_BYTES);
        long number = number(text(offsetValue, OFFSET_BYTES));
        if (from.isEmpty() || number < 0) {
            return tell(copy, "has a stamp that cannot be read, so it is stamped again", NATIVE);
        }
        if (!placeHeader.isEmpty() && !isHere(copy, from, text(last(copy, placeHeader), PLACE_BYTES))) {
            return tell(copy, "has a stamp of another place or time, or of none, so it is stamped again", NATIVE);
        }
        if (from.equals(here) && number >= offset(copy)) {
            return number == offset(copy) ? STAMPED
                : tell(copy, "has a stamp of a record that comes later, so it is stamped again", NATIVE);
        }
        return tell(copy, drops ? "is a copy already, so it is dropped: every pair of clusters needs a flow of its own"
            : "is a copy already, so it keeps its stamp", MIRRORED);
    }

    /** Whether a place is the log that the copy is read from, called as it is there or at its origin. */
    private static boolean isHere(SourceRecord copy, String from, String place) {
        boolean isTimed = copy.timestamp() != null && place.endsWith("@" + copy.timestamp());
        String named = isTimed ? place.substring(0, place.lastIndexOf('@')) : place;
        String read = place(copy);
        int prefix = read.length() - named.length();
        if (prefix <= from.length() || !read.startsWith(from) || !read.endsWith(named)) {
            return named.equals(read);
        }
        // Called "alias, separator, topic", if the target calls this topic so too.
        String separator = read.substring(from.length(), prefix);
        Map source = copy.sourcePartition();
        return (source.get("cluster") + separator + source.get("topic")).equals(copy.topic());
    }

    private static boolean isCopy(ConnectRecord record) {
        if (!(record instanceof SourceRecord)) {
            return false;
        }
        Map source = ((SourceRecord) record).sourcePartition();
        Map offset = ((SourceRecord) record).sourceOffset();
        return source != null && offset != null && !source.containsKey("group")
            && source.get("cluster") instanceof String && source.get("topic") instanceof String
            && source.get("partition") instanceof Number && offset.get("offset") instanceof Number;
    }

    private static String place(SourceRecord copy) {
        return copy.sourcePartition().get("topic") + "-" + copy.sourcePartition().get("partition");
    }

    private static long offset(SourceRecord copy) {
        return ((Number) copy.sourceOffset().get("offset")).longValue();
    }

    private static Object last(SourceRecord copy, String name) {
        Header header = copy.headers().lastWithName(name);
        return header == null ? null : header.value();
    }

    /** The text in a header; empty where it has none, has more than so many bytes, or is no UTF-8. */
    private static String text(Object value, int most) {
        if (!(value instanceof byte[]) || ((byte[]) value).length == 0 || ((byte[]) value).length > most) {
            return "";
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap((byte[]) value)).toString();
        } catch (CharacterCodingException problem) {
            return "";
        }
    }

    /** The number that these digits are; -1 where they are anything else, or more than any offset. */
    private static long number(String digits) {
        long number = digits.isEmpty() ? -1 : 0;
        for (int at = 0; number >= 0 && at < digits.length(); at++) {
            int digit = digits.charAt(at) - '0';
            boolean fits = digit >= 0 && digit <= 9 && number <= (LARGEST_OFFSET - digit) / 10;
            number = fits ? number * 10 + digit : -1;
        }
        return number;
    }

    /** Logs the 1st, 10th, 100th, ... record of which this is so, for there may be very many; returns its kind. */
    private int tell(SourceRecord copy, String what, int kind) {
        long[] countAndNext = (long[]) told.get(what);
        if (countAndNext == null) {
            countAndNext = new long[] {0, 1};
            told.put(what, countAndNext);
        }
        countAndNext[0]++;
        if (countAndNext[0] == countAndNext[1]) {
            countAndNext[1] *= 10;
            String where = place(copy) + " offset " + offset(copy) + " of " + copy.sourcePartition().get("cluster");
            LOG.info(where + " " + what + " (" + countAndNext[0] + " so far)");
        }
        return kind;
    }
}
