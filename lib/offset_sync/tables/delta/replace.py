"""Put rows in the place of all that a Delta table holds, without a Spark job.

A report replaces ``sync_status`` every time. Through Spark's writer the first one of a session took 19 s on a busy
machine and each further one 5 s; this way it is as quick as an append.
"""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError

from offset_sync.tables.delta.kernel import KernelWriter
from offset_sync.tables.delta.lock import table_lock

_ATTEMPTS = 5
_OVERTAKEN = "io.delta.kernel.exceptions.MaxCommitRetryLimitReachedException"


class DeltaReplacer(KernelWriter):
    """Replaces the content of tables on any Hadoop file system; threads may share it."""

    def replace(self, path: str, rows: pa.Table) -> None:
        """Put *rows* in the place of all rows; readers see the old ones or the new ones, and never both.

        Whoever replaces at the same moment is waited for, or found out when the log is written: then all is done
        again on top of that one's rows. Raises Py4JJavaError when the table cannot be written.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with table_lock(self._files.local(path)):
                    self._replace(path, self._newest(path), rows)
            except Py4JJavaError as problem:
                if attempt == _ATTEMPTS or problem.java_exception.getClass().getName() != _OVERTAKEN:
                    raise
            else:
                return

    def _replace(self, path: str, snapshot: Any, rows: pa.Table) -> None:
        # Without retries: Delta Kernel's own look at what was written meanwhile may keep the rows of two writers.
        transaction = self._update(snapshot).withMaxRetries(0).build(self._engine)
        actions = self._removals(snapshot)
        if rows.num_rows:
            additions = self._additions(transaction, self._write(path, rows, transaction))
            while additions.hasNext():
                actions.add(additions.next())
        utils = self._kernel.internal.util.Utils
        iterator = utils.toCloseableIterator(actions.iterator())
        result = transaction.commit(self._engine, self._kernel.utils.CloseableIterable.inMemoryIterable(iterator))
        self._has_checkpointed(path, result)

    def _removals(self, snapshot: Any) -> Any:
        """Return a list of the actions that remove every file of *snapshot*."""
        internal, optional, found = self._kernel.internal, self._jvm.java.util.Optional, self._jvm.java.util.ArrayList()
        files = internal.util.Utils.intoRows(snapshot.getScanBuilder().build().getScanFiles(self._engine))
        removed_at_ms = optional.of(int(time.time() * 1000))
        while files.hasNext():
            file = files.next().getStruct(internal.InternalScanFileUtils.ADD_FILE_ORDINAL)
            gone = internal.actions.AddFile(file).toRemoveFileRow(True, removed_at_ms)
            found.add(internal.actions.SingleAction.createRemoveFileSingleAction(gone))
        files.close()
        return found
