"""Translate and commit offsets: spark-submit jobs/sync_offsets.py --conf FILE [--once] [--dry-run | --no-writes]."""

from offset_sync.jobs.process_end import end_process
from offset_sync.jobs.runner import job_arguments, run_job
from offset_sync.jobs.sync_offsets import sync_offsets

if __name__ == "__main__":
    parser = job_arguments("Keep the consumer offsets of every cluster translated into the others.")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--dry-run", action="store_true", help="write the plan with outcome DRY_RUN, touch no cluster")
    kind.add_argument("--no-writes", action="store_true", help="the job itself, with its tables, but touch no cluster")
    end_process(run_job(sync_offsets, parser))
