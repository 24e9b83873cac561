"""Translate and commit offsets: spark-submit jobs/sync_offsets.py --conf FILE [--once] [--dry-run]."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("sync_offsets"))
