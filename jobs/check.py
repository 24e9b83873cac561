"""Prove connection, rights, headers and settings before a start: spark-submit jobs/check.py --conf FILE [--json]."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("check"))
