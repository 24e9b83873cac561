"""Report how every group stands: spark-submit jobs/report_status.py --conf FILE [--once] [--format table|json|none]."""

import sys

from offset_sync.jobs.report_status import report_status
from offset_sync.jobs.runner import job_arguments, run_job
from offset_sync.status.render.outputs import status_arguments

if __name__ == "__main__":
    parser = status_arguments(job_arguments("Report how every group stands between every two clusters."))
    sys.exit(run_job(report_status, parser))
