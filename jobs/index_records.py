"""Index the mirrored records of every cluster: spark-submit jobs/index_records.py --conf FILE [--once]."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("index_records"))
