#!/usr/bin/env bash
# Sourced by Spark's own start scripts. Under spark-submit.sh the driver is a Python process and this JVM its child: a SIGTERM sent to
# the whole process group (timeout, a shell's kill of a job) must end the driver, which needs the JVM to finish the micro-batch in hand.
# So the JVM ignores it, and ends with the driver: it exits when its standard input, a pipe from there, is closed.
if [[ -n "${OFFSET_SYNC_DRIVER:-}" ]]; then
  trap '' TERM
  # Spark's classes as the JVM has them in memory (scripts/class_archives.py): it starts 3 s sooner. The JVM takes them only where no
  # folder with files is on its class path, so it gets another one than conf/, but for YARN, where executors get what is in that folder.
  # With another Java, or other jars, it ignores them.
  conf=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  if [[ -f "$conf/../jars/spark/classes.jsa" && "${PYSPARK_SUBMIT_ARGS:-}" != *"--master yarn"* ]]; then
    SPARK_CONF_DIR="$conf/none"
    SPARK_SUBMIT_OPTS="-XX:SharedArchiveFile=$conf/../jars/spark/classes.jsa -Xlog:cds*=off -Dlog4j2.configurationFile=$conf/log4j2.properties ${SPARK_SUBMIT_OPTS:-}"
  fi
fi
