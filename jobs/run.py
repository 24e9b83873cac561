"""Run all jobs of an installation and start again what fails: spark-submit.sh run --conf FILE."""

from offset_sync.jobs.process_end import end_process
from offset_sync.jobs.run import JOBS, run
from offset_sync.jobs.runner import job_arguments, run_job

if __name__ == "__main__":
    end_process(run_job(run, job_arguments(f"Run {', '.join(JOBS)}, and start again what fails.", has_once=False)))
