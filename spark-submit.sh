#!/usr/bin/env bash
# Start one job: ./spark-submit.sh JOB [--conf FILE] [options]. Without arguments it lists the jobs. See scripts/submit.py.
set -euo pipefail

repo=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
python=${PYSPARK_DRIVER_PYTHON:-$repo/.venv/bin/python}
if ! command -v "$python" >/dev/null; then
  echo "$python: not there; run 'make install', or name a Python that has the dependencies in PYSPARK_DRIVER_PYTHON" >&2
  exit 2
fi
# exec all the way down: the process that was started is the job itself, so signals and the exit code need no forwarding.
exec "$python" "$repo/scripts/submit.py" "$@"
