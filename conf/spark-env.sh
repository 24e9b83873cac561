#!/usr/bin/env bash
# Sourced by Spark's own start scripts. Under spark-submit.sh the driver is a Python process and this JVM its child: a SIGTERM sent to
# the whole process group (timeout, a shell's kill of a job) must end the driver, which needs the JVM to finish the micro-batch in hand.
# So the JVM ignores it, and ends with the driver: it exits when its standard input, a pipe from there, is closed.
if [[ -n "${OFFSET_SYNC_DRIVER:-}" ]]; then
  trap '' TERM
fi
# An archive of classes (scripts/class_archive.py) is for a class path of jars alone, and Spark puts its folder of settings there: so
# that has to be an empty one. What stands in this one is given to Spark in other ways.
if [[ -n "${OFFSET_SYNC_EMPTY_CONF:-}" ]]; then
  LOG4J_CONFIGURATION_FILE="$SPARK_CONF_DIR/log4j2.properties"
  SPARK_CONF_DIR="$OFFSET_SYNC_EMPTY_CONF"
fi
