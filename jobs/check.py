"""Prove connection, rights, headers and settings before a start: spark-submit jobs/check.py --conf FILE [--json]."""

import sys

from offset_sync.jobs.check import check, check_arguments
from offset_sync.jobs.runner import job_arguments, run_job

if __name__ == "__main__":
    says = "Prove connection, rights, mirror headers and brokers' settings before a start; changes nothing."
    sys.exit(run_job(check, check_arguments(job_arguments(says, has_once=False))))
