"""Move groups to another cluster: spark-submit jobs/cutover.py plan|apply|verify --conf FILE --from A --to B …."""

import sys

from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments, run_job

if __name__ == "__main__":
    says = "Plan, make or verify the move of consumer groups to another cluster."
    parser = cutover_arguments(job_arguments(says, has_once=False))
    sys.exit(run_job(cutover_groups, parser))
