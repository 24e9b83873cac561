"""Named points at which a test may end the process as a power failure would.

They do nothing unless ``OFFSET_SYNC_KILL_AT`` names one. So the promises about restarts can be tested on a real
process, at the exact instruction. ``NAME:3`` is the third time that the point is passed.
"""

from __future__ import annotations

import itertools
import os
import signal

VARIABLE = "OFFSET_SYNC_KILL_AT"

BEFORE_RUNS = "index_records.before_runs"
"""A micro-batch is read, and its malformed records are in quarantine; none of its runs is in the table."""
IN_RUNS = "append.record_runs"
"""The file with the runs is written, and the log of the table has no entry for it yet."""
AFTER_RUNS = "index_records.after_runs"
"""The runs of a micro-batch are in the table; its checkpoint does not say so yet."""
AFTER_TRANSLATING = "sync_offsets.after_translating"
"""The commits for a target are computed; nothing has been noted or sent."""
AFTER_LISTS = "sync_offsets.after_lists"
"""The target has acknowledged the read lists of answers; none of these is sent yet."""
BEFORE_COMMIT = "sync_offsets.before_commit"
"""A target was read and the lease was checked; nothing is sent yet."""
AFTER_COMMIT = "sync_offsets.after_commit"
"""A target has acknowledged a batch of commits; that is not recorded yet."""
BEFORE_HISTORY = "sync_offsets.before_history"
"""Answers and their outcomes wait to be appended to ``offset_translations``."""
IN_HISTORY = "append.offset_translations"
"""The file with the answers is written, and the log of the table has no entry for it yet."""
IN_COMMITS = "append.offset_commits"
"""The file with the commits of a micro-batch is written, and the log of the table has no entry for it yet."""
AFTER_HISTORY = "sync_offsets.after_history"
"""The commits of a micro-batch are in the tables; its checkpoint does not say so yet."""

_passed = itertools.count(1)


def failpoint(name: str) -> None:
    """Kill this process if the environment names this point."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    point, _, times = wanted.partition(":")
    if point == name and next(_passed) >= int(times or 1):
        os.kill(os.getpid(), signal.SIGKILL)


def in_append(path: str) -> None:
    """The point between the file and the log entry of an append to the table at *path*."""
    failpoint(f"append.{path.rsplit('/', 1)[-1]}")
