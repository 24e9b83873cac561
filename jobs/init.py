"""Write a first configuration from what the clusters show, and check it: spark-submit.sh init --conf FILE."""

import sys

from offset_sync.jobs.init import init

if __name__ == "__main__":
    sys.exit(init())
