package offsetsync;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;

import io.delta.storage.S3SingleDriverLogStore;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log on S3 with several drivers: an entry is put only where there is none (If-None-Match), by hadoop-aws 3.4.2 or newer.
 *
 * Delta 4.4's own log store looks first and then replaces. scripts/log_store.py compiles this with the Janino that comes with
 * Spark: hence no generics.
 */
public class S3LogStore extends S3SingleDriverLogStore {
    private static final String CONDITIONAL = "fs.option.create.conditional.overwrite";
    private static final String REFUSED = "org.apache.hadoop.fs.s3a.RemoteFileChangedException";

    public S3LogStore(Configuration settings) {
        super(settings);
    }

    /** Writes lines as a file; of two who write one that is not to be replaced, one gets a FileAlreadyExistsException. */
    public void write(Path path, Iterator lines, Boolean overwrite, Configuration settings) throws IOException {
        if (overwrite.booleanValue()) {
            super.write(path, lines, overwrite, settings);
            return;
        }
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        while (lines.hasNext()) {
            whole.write(((String) lines.next() + "\n").getBytes(StandardCharsets.UTF_8));
        }
        FileSystem files = path.getFileSystem(settings);
        if (files.exists(path)) {
            throw new FileAlreadyExistsException(path.toString());
        }
        try {
            put(files, path, whole.toByteArray());
        } catch (IOException problem) {
            // A put whose answer was lost is repeated, and refused for what it has put itself.
            if (!isRefused(problem)) {
                throw problem;
            }
            if (!isContent(files, path, whole.toByteArray())) {
                throw new FileAlreadyExistsException(path.toString());
            }
        }
    }

    private static void put(FileSystem files, Path path, byte[] content) throws IOException {
        FSDataOutputStreamBuilder builder = files.createFile(path);
        builder.recursive();
        builder.overwrite(false);
        builder.must(CONDITIONAL, true); // a file system that does not know this fails
        FSDataOutputStream stream = (FSDataOutputStream) builder.build();
        stream.write(content); // kept here until it is closed, so nothing is put where this fails
        stream.close();
    }

    private static boolean isRefused(Throwable problem) {
        for (Throwable each = problem; each != null; each = each.getCause()) {
            if (each.getClass().getName().equals(REFUSED) || each instanceof org.apache.hadoop.fs.FileAlreadyExistsException) {
                return true;
            }
        }
        return false;
    }

    private static boolean isContent(FileSystem files, Path path, byte[] content) throws IOException {
        long size;
        try {
            size = files.getFileStatus(path).getLen();
        } catch (FileNotFoundException gone) {
            return false;
        }
        if (size != content.length) {
            return false;
        }
        byte[] found = new byte[content.length];
        FSDataInputStream stream = files.open(path);
        try {
            stream.readFully(0L, found);
        } finally {
            stream.close();
        }
        return Arrays.equals(content, found);
    }
}
