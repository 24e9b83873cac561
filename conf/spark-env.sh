#!/usr/bin/env bash
# Sourced by Spark's own start scripts. Under spark-submit.sh the driver is a Python process and this JVM its child: a SIGTERM sent to
# the whole process group (timeout, a shell's kill of a job) must end the driver, which needs the JVM to finish the micro-batch in hand.
# So the JVM ignores it, and ends with the driver: it exits when its standard input, a pipe from there, is closed.
if [[ -n "${OFFSET_SYNC_DRIVER:-}" ]]; then
  trap '' TERM
fi
