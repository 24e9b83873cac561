"""Move groups to another cluster: spark-submit jobs/cutover.py plan|apply|verify --conf FILE --from A --to B …."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("cutover"))
