"""Two Kafka clusters, a failover and the way back, measured: ./spark-submit.sh demo [--quick]."""

import argparse

from offset_sync.jobs.process_end import end_process
from offset_sync_demo.story.play import play

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two Kafka clusters, a failover and the way back, measured.")
    parser.add_argument("--quick", action="store_true", help="less load, in two to three minutes")
    end_process(play(is_quick=parser.parse_args().quick))
