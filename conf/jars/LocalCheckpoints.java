package offsetsync;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager;

/**
 * Spark's files of a checkpoint, on a local disk alone, without the five processes that Hadoop starts there for each.
 *
 * They are written and renamed as Spark has it: one chmod and four readlink, which it does by processes, are what is left out.
 * So a file has the permissions of the umask. scripts/log_store.py compiles this with the Janino that comes with Spark.
 */
public class LocalCheckpoints extends FileContextBasedCheckpointFileManager {
    public LocalCheckpoints(Path path, Configuration settings) {
        super(path, settings);
    }

    public FSDataOutputStream createTempFile(Path path) throws IOException {
        return new FSDataOutputStream(new FileOutputStream(file(path)), null);
    }

    public void renameTempFile(Path from, Path to, boolean replaces) throws IOException {
        if (!replaces && file(to).exists()) {
            throw new FileAlreadyExistsException("rename destination " + to + " already exists.");
        }
        Files.move(file(from).toPath(), file(to).toPath(), new CopyOption[] {StandardCopyOption.ATOMIC_MOVE});
    }

    private static File file(Path path) {
        return new File(path.toUri().getPath());
    }
}
