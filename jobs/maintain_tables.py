"""Keep the Delta tables small and fast: spark-submit jobs/maintain_tables.py --conf FILE [--once]."""

from offset_sync.jobs.maintain_tables import maintain_tables
from offset_sync.jobs.process_end import end_process
from offset_sync.jobs.runner import job_arguments, run_job

if __name__ == "__main__":
    end_process(
        run_job(maintain_tables, job_arguments("Compact the Delta tables, remove what nobody can need any more."))
    )
