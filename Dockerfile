# All jobs with everything they need, for drivers and executors on Kubernetes, or for one container with --master local[*].
#   docker build -t offset-sync:0.1.0 .
# With --build-arg KERBEROS=yes the Python client can log in by Kerberos (docs/deployment.md).
# Versions are pinned where they are for everybody: requirements/*.lock and conf/jars/ivy.xml. The brokers of the demo are not in it.
ARG PYTHON_VERSION=3.11
ARG KERBEROS=

FROM python:${PYTHON_VERSION}-slim-bookworm AS base
ARG KERBEROS
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps tini \
    ${KERBEROS:+libcurl4 libgssapi-krb5-2 libsasl2-modules-gssapi-mit libzstd1} \
 && rm -rf /var/lib/apt/lists/* \
 && ln -s "$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")" /opt/java
ENV JAVA_HOME=/opt/java \
    SPARK_HOME=/opt/offset-sync/spark \
    PYTHONUNBUFFERED=1

FROM base AS builder
ARG KERBEROS
WORKDIR /opt/offset-sync
COPY requirements ./requirements
RUN python -m venv .venv \
 && .venv/bin/pip install --no-cache-dir --require-hashes --no-deps --requirement requirements/build.lock \
 && .venv/bin/pip install --no-cache-dir --require-hashes --no-deps --no-build-isolation --requirement requirements/runtime.lock \
 && ln -s "$(echo .venv/lib/python3.*/site-packages/pyspark)" spark
COPY scripts ./scripts
# hadolint ignore=DL3008
RUN if [ -n "$KERBEROS" ]; then \
    apt-get update \
 && apt-get install -y --no-install-recommends g++ make npm pkg-config \
    libcurl4-openssl-dev libsasl2-dev libssl-dev libzstd-dev zlib1g-dev \
 && rm -rf /var/lib/apt/lists/* \
 && .venv/bin/python scripts/kerberos_client.py \
 && .venv/bin/pip install --no-cache-dir --no-deps --force-reinstall dist/kerberos/*.whl \
 && rm -rf dist; \
    fi
COPY conf ./conf
# Beside Spark's own jars, so that no pod has to fetch them from its driver.
RUN .venv/bin/python scripts/jars.py spark \
 && mv jars/spark/*.jar spark/jars/ \
 && rm -rf jars
COPY lib ./lib
COPY jobs ./jobs
COPY spark-submit.sh ./
COPY LICENSE ./
COPY NOTICE ./
RUN .venv/bin/python scripts/bundle.py \
 && .venv/bin/python scripts/class_archives.py spark \
 && .venv/bin/python -m compileall -q lib scripts

FROM base
LABEL org.opencontainers.image.title="offset-sync" \
      org.opencontainers.image.description="Keeps the consumer offsets of several Kafka clusters in sync, exactly" \
      org.opencontainers.image.version="0.1.0"
COPY --from=builder /opt/offset-sync /opt/offset-sync
# The JVM asks the system for the name of its user, so the user must have one.
RUN useradd --uid 185 --gid 0 --create-home --home-dir /home/spark --no-log-init spark
ENV OFFSET_SYNC_LOG_FORMAT=json \
    SPARK_CONF_DIR=/opt/offset-sync/conf \
    PATH=/opt/offset-sync/.venv/bin:/opt/offset-sync:$PATH
WORKDIR /home/spark
USER 185
# tini gives the SIGTERM to the one process below it: the driver, which finishes its micro-batch and ends.
ENTRYPOINT ["/usr/bin/tini", "--", "/opt/offset-sync/.venv/bin/python", "/opt/offset-sync/scripts/entrypoint.py"]
