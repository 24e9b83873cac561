"""Index the mirrored records of every cluster: spark-submit jobs/index_records.py --conf FILE [--once]."""

from offset_sync.jobs.index_records import index_records
from offset_sync.jobs.process_end import end_process
from offset_sync.jobs.runner import job_arguments, run_job

if __name__ == "__main__":
    end_process(run_job(index_records, job_arguments("Index the mirrored records of every cluster into record_runs.")))
