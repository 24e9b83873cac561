"""Keep the Delta tables small and fast: spark-submit jobs/maintain_tables.py --conf FILE [--once]."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("maintain_tables"))
