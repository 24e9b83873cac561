"""Run all jobs of an installation and start again what fails: spark-submit.sh run --conf FILE."""

from offset_sync.jobs.console import run_command
from offset_sync.jobs.process_end import end_process

if __name__ == "__main__":
    end_process(run_command("run"))
