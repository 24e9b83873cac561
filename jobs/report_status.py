"""Report how every group stands: spark-submit jobs/report_status.py --conf FILE [--once] [--format text|json]."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("report_status"))
