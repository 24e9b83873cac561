"""Translate offsets that are kept elsewhere: spark-submit jobs/translate.py --conf FILE --from A --to B …."""

import sys

from offset_sync.jobs.runner import job_arguments, run_job
from offset_sync.jobs.translate import translate, translate_arguments

if __name__ == "__main__":
    says = "Translate offsets that no consumer group has committed: of savepoints, checkpoints and connectors."
    sys.exit(run_job(translate, translate_arguments(job_arguments(says, has_once=False))))
