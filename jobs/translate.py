"""Translate offsets that are kept elsewhere: spark-submit jobs/translate.py --conf FILE --from A --to B …."""

import sys

from offset_sync.jobs.console import run_command

if __name__ == "__main__":
    sys.exit(run_command("translate"))
