"""Named points at which a test may end the process as a power failure would.

Nothing happens at them unless ``OFFSET_SYNC_KILL_AT`` names one: whatever is promised about a restart can then be
tried, on a real process, at exactly the instruction in question.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "OFFSET_SYNC_KILL_AT"

BEFORE_RUNS = "index_records.before_runs"
"""A micro-batch is read, and its malformed records are in quarantine; none of its runs is in the table."""
AFTER_RUNS = "index_records.after_runs"
"""The runs of a micro-batch are in the table; its checkpoint does not say so yet."""
AFTER_COMMIT = "sync_offsets.after_commit"
"""A target has acknowledged a batch of commits; nobody has written that down."""
AFTER_HISTORY = "sync_offsets.after_history"
"""The commits of a micro-batch are in the tables; its checkpoint does not say so yet."""


def failpoint(name: str) -> None:
    """Go on, or die here when the environment says so."""
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
