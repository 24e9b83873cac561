"""Write a first configuration from what the clusters show, and check it: spark-submit.sh init --conf FILE."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("init"))
