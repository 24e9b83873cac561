"""Run all jobs of an installation and start again what fails: spark-submit.sh run --conf FILE."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("run"))
