package offsetsync.consumer;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Pattern;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;

/**
 * The offsets of one partition, from {@link #start} on, that the group has already read at another cluster.
 *
 * <p>Its text is the metadata of a commit: {@code offset-sync/1 CLUSTER S E BODY}, optionally followed by one NUL.
 * CLUSTER is the id of the cluster whose offsets these are, 1 to 200 visible ASCII characters. S is the start, which is
 * the committed offset too, E the largest leader epoch that a listed record may have. BODY is {@code r} or {@code z}
 * (raw DEFLATE) and base64url without padding of unsigned LEB128 numbers: alternately the distance to the next listed
 * range and its length. {@code r} alone lists nothing.
 *
 * <p>After BODY may follow hints, words that begin with {@code late=}. They announce records that may be listed later
 * and never restrict the ranges, so this version ignores them.
 *
 * <p><b>Which way this errs.</b> A text that deviates in one character is no list, and everything is delivered: another
 * version word, any other word after BODY, a number in a longer form than needed, an empty or an adjoining range,
 * offsets beyond 2^63 - 1, padding, trailing bytes. A parsed list never contains an offset that the text does not list.
 */
final class ReadList {
    private static final String VERSION = "offset-sync/1";
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,18}");
    private static final Pattern CLUSTER_ID = Pattern.compile("[!-~]{1,200}");
    private static final Pattern HINT = Pattern.compile("late=[!-~]+");
    /** Offset Sync writes no longer ones: of a text, and of the bytes that its numbers take. */
    private static final int LONGEST_TEXT = 4096;
    private static final int LARGEST_BODY = 1 << 16;
    private static final int BITS_OF_AN_OFFSET = 63;

    final String cluster;
    final long start;
    final int epoch;
    private final long[] firsts;
    private final long[] ends;

    private ReadList(String cluster, long start, int epoch, long[] firsts, long[] ends) {
        this.cluster = cluster;
        this.start = start;
        this.epoch = epoch;
        this.firsts = firsts;
        this.ends = ends;
    }

    /** Returns the list that a commit holds, or null if it is not a list for its offset and for this cluster. */
    static ReadList of(OffsetAndMetadata commit, String cluster) {
        ReadList list = commit == null ? null : parse(commit.metadata());
        return list == null || list.start != commit.offset() || !list.cluster.equals(cluster) ? null : list;
    }

    /** Returns the list of this text, or null if it is not one. */
    static ReadList parse(String metadata) {
        try {
            require(metadata.length() <= LONGEST_TEXT);
            return parsed(metadata.endsWith("\0") ? metadata.substring(0, metadata.length() - 1) : metadata);
        } catch (IllegalArgumentException | ArithmeticException | DataFormatException notAList) {
            return null;
        }
    }

    /** Returns whether the list has ranges. */
    boolean isEmpty() {
        return firsts.length == 0;
    }

    /** Returns the end of the last range: no offset from here on is listed. */
    long end() {
        return isEmpty() ? start : ends[ends.length - 1];
    }

    /** Returns whether this offset is listed. */
    boolean contains(long offset) {
        int place = Arrays.binarySearch(firsts, offset);
        int before = place >= 0 ? place : -place - 2;
        return before >= 0 && offset < ends[before];
    }

    /** Returns the ranges, half-open, as {@code 3-5 9-10}. */
    String ranges() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < firsts.length; i++) {
            text.append(i == 0 ? "" : " ").append(firsts[i]).append('-').append(ends[i]);
        }
        return text.toString();
    }

    private static ReadList parsed(String text) throws DataFormatException {
        String[] words = text.split(" ", -1);
        require(words.length >= 5 && words[0].equals(VERSION) && CLUSTER_ID.matcher(words[1]).matches());
        for (int i = 5; i < words.length; i++) {
            require(HINT.matcher(words[i]).matches());
        }
        long start = number(words[2]);
        long epoch = number(words[3]);
        require(epoch <= Integer.MAX_VALUE);
        long[] lengths = numbers(body(words[4]));
        require(lengths.length % 2 == 0);
        long[] firsts = new long[lengths.length / 2];
        long[] ends = new long[lengths.length / 2];
        long offset = start;
        for (int i = 0; i < firsts.length; i++) {
            long gap = lengths[2 * i];
            long length = lengths[2 * i + 1];
            require(length > 0 && (gap > 0 || i == 0));
            firsts[i] = Math.addExact(offset, gap);
            ends[i] = Math.addExact(firsts[i], length);
            offset = ends[i];
        }
        return new ReadList(words[1], start, (int) epoch, firsts, ends);
    }

    private static long number(String digits) {
        require(NUMBER.matcher(digits).matches());
        return Long.parseLong(digits);
    }

    private static byte[] body(String word) throws DataFormatException {
        require(word.startsWith("r") || word.startsWith("z"));
        String encoded = word.substring(1);
        byte[] bytes = Base64.getUrlDecoder().decode(encoded);
        // The decoder takes padding, and bits behind the last byte.
        require(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes).equals(encoded));
        return word.startsWith("z") ? inflated(bytes) : bytes;
    }

    private static byte[] inflated(byte[] deflated) throws DataFormatException {
        Inflater inflater = new Inflater(true);
        try {
            inflater.setInput(deflated);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            byte[] buffer = new byte[8192];
            while (!inflater.finished()) {
                int count = inflater.inflate(buffer);
                require(count > 0 || inflater.finished());
                bytes.write(buffer, 0, count);
                require(bytes.size() <= LARGEST_BODY);
            }
            require(inflater.getRemaining() == 0);
            return bytes.toByteArray();
        } finally {
            inflater.end();
        }
    }

    private static long[] numbers(byte[] bytes) {
        long[] found = new long[bytes.length];
        int count = 0;
        long value = 0;
        int shift = 0;
        for (byte each : bytes) {
            require(shift < BITS_OF_AN_OFFSET);
            value |= (each & 0x7FL) << shift;
            shift += 7;
            if (each >= 0) {
                require(each != 0 || shift == 7);
                found[count++] = value;
                value = 0;
                shift = 0;
            }
        }
        require(shift == 0);
        return Arrays.copyOf(found, count);
    }

    private static void require(boolean holds) {
        if (!holds) {
            throw new IllegalArgumentException("not a read list");
        }
    }
}
