# Offset Sync. `make` lists what there is to do.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.SUFFIXES:

# The first Python that will do; make PYTHON=… to choose another.
SUITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(SUITS)' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Some benchmarks use what the tests are written with.
BENCH := PYTHONPATH=tests/support $(BIN)/python

# Given on to what is run: make demo ARGS=--quick, make test-unit ARGS='-k decode'
ARGS ?=
# `make test` runs so many side by side in each of two lanes; 1: one lane after the other. Every
# worker of tests/spark and tests/broker has a JVM of its own, with brokers 4 GiB.
WORKERS ?= 2

.PHONY: help install demo test test-unit test-spark test-broker test-browser test-cluster test-versions test-slow test-tables test-contents protections search mutants soak chaos moves restarts bench-accuracy bench-mm2 bench-speed bench-scale bench docs picture check format lock zip connect consumer archive clean distclean

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

install: ## Set everything up in .venv and jars/ (all other targets do so by themselves)
	@$(or $(PYTHON),python3) -c '$(SUITS)' || { \
		echo "Python 3.11, 3.12, 3.13 or 3.14 is needed and none was found; install one and name it: make PYTHON=python3.13" >&2; exit 1; }
	@$(PYTHON) scripts/environment.py
	@$(BIN)/python scripts/jars.py
	@$(BIN)/python scripts/class_archives.py

demo: install ## Two Kafka clusters, a failover and the way back, measured (ARGS=--quick for the short one)
	@./spark-submit.sh demo --driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" $(ARGS)

test: install ## All tests: unit, browser, spark and broker (WORKERS=1 for a small machine)
	@$(BIN)/python scripts/jars.py clients
	@$(BIN)/python scripts/run_tests.py --workers $(WORKERS) $(ARGS)

test-unit: install ## Tests that start neither brokers nor Spark (ARGS='-k decode' for some of them; so in all of these)
	@$(PYTEST) tests/unit $(ARGS)

test-spark: install ## Tests with a Spark session and Delta tables, without Kafka
	@$(PYTEST) tests/spark $(ARGS)

test-broker: install ## Tests with real Kafka brokers, which they start by themselves; the slowest
	@$(BIN)/python scripts/jars.py clients
	@$(PYTEST) tests/broker $(ARGS)

test-browser: install ## Tests of the status page in a headless Chromium; skipped where none is installed
	@$(PYTEST) tests/browser $(ARGS)

test-cluster: install dist/environment.tar.gz ## The jobs on YARN, HDFS, S3 and with Kerberos, from jars that only this fetches (80 MiB)
	@$(BIN)/python scripts/jars.py cluster
	@$(BIN)/python scripts/kerberos_client.py || echo "The tests with Kerberos are skipped."
	@$(PYTEST) tests/cluster $(ARGS)

# For the tests one of an earlier day will do; `make archive` packs it anew.
dist/environment.tar.gz: requirements/runtime.lock | install
	@$(BIN)/python scripts/archive.py

# Of dc1 and dc2; each is both of them once, beside an older or a newer one.
VERSIONS ?= 3.6,4.4 3.9,4.0 4.0,4.4 4.4,3.6

test-versions: install ## What depends on the broker, with Kafka 3.6, 3.9, 4.0 and 4.4 in pairs (VERSIONS='3.6,4.4')
	@$(BIN)/python scripts/jars.py versions
	@for pair in $(VERSIONS); do echo "== brokers of Kafka $$pair"; OFFSET_SYNC_BROKER_VERSIONS=$$pair \
		$(PYTEST) tests/broker -m versions -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS) || exit 1; done

test-slow: install ## What takes too long for `make test`: read lists while all runs, all versions of consumers, ways of MirrorMaker 2
	@$(BIN)/python scripts/jars.py clients
	@$(PYTEST) tests/broker -m slow $(ARGS)

test-contents: install ## Tests of lib/offset_sync_contents, copies recognised by contents; with Spark and brokers
	@$(BIN)/python scripts/jars.py clients
	@for each in tests/contents tests/spark/contents tests/broker/contents; do $(PYTEST) $$each $(ARGS) || exit 1; done

protections: install ## Take out each thing that must not break, and see its one test fail (ARGS='--tell clock' for some)
	@PYTHONPATH=lib:tests/support:consumer/python $(BIN)/python -P tests/protections.py --workers $(WORKERS) $(ARGS)

test-tables: install ## 500 random histories of the tables with interruptions at any call, half an hour (ARGS='--examples 50')
	@PYTHONPATH=lib:tests/support $(BIN)/python -m histories.run $(ARGS)

search: install ## All histories of a group's commits, our writes, lost answers, crashes and moves, up to a depth
	@PYTHONPATH=lib:tests/support $(BIN)/python -m search.explore $(ARGS)

soak: install ## The simulation by fresh seeds, an hour long (ARGS='--hours 8'); fails with a short history, or a state not reached
	@PYTHONPATH=lib:tests/support:consumer/python $(BIN)/python -m simulation.soak $(ARGS)

chaos: install ## Both jobs, brokers and MirrorMaker 2 killed, stopped and doubled at random: nothing ahead (ARGS='--minutes 10 --seed N')
	@PYTHONPATH=lib:tests/support $(BIN)/python benchmarks/live_chaos.py $(ARGS)

moves: install ## Groups move to and fro by their read lists under load, real MirrorMaker 2; 10 minutes (ARGS='--times 20 --rough')
	@PYTHONPATH=lib:tests/support:scripts $(BIN)/python benchmarks/live_moves.py $(ARGS)

restarts: install ## Both jobs killed at random failpoints and started again, 20 minutes (ARGS='--times 100 --seed N')
	@PYTHONPATH=lib:tests/support $(BIN)/python benchmarks/live_restarts.py $(ARGS)

mutants: dist/mutmut ## Change the pure core, one expression at a time: tests must notice 95 % (ARGS=write_plan)
	@PYTHONPATH=lib:tests/support:dist/mutmut $(BIN)/python -m mutants.run $(ARGS)

dist/mutmut: requirements/mutants.txt | install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps --require-hashes --target=$@ -r $<
	@touch $@

bench-accuracy: install ## What each strategy answers, loses and repeats, into docs/benchmarks.md
	@$(BENCH) benchmarks/accuracy.py $(ARGS)
	@$(BENCH) benchmarks/report.py

bench-mm2: install ## Live beside the real MirrorMaker 2: what groups would read again, into docs/benchmarks.md; 12 minutes
	@$(BENCH) benchmarks/mirrormaker.py $(ARGS)
	@$(BENCH) benchmarks/mirrormaker_names.py
	@$(BENCH) benchmarks/report.py

bench-speed: install ## Each part beside the limit of the same run, into docs/benchmarks.md
	@for each in decode translate commit_rate indexing indexing_contents latency startup; do \
		echo "== $$each"; $(BENCH) benchmarks/$$each.py || exit 1; done
	@$(BENCH) benchmarks/report.py

bench-scale: install ## The jobs with an index of 1, 10 and 100 million runs, into docs/benchmarks.md (ARGS='--runs 1 10'); 20 minutes
	@$(BENCH) benchmarks/scale.py $(ARGS)
	@$(BENCH) benchmarks/report.py

bench: bench-accuracy bench-mm2 bench-speed ## All benchmarks but bench-scale, about an hour

picture: install ## Draw docs/status-page.png, the status page in README.md; takes Chromium
	@PYTHONPATH=lib:tests/support $(BIN)/python benchmarks/status_page.py

docs: install ## Write the generated parts of docs/tables.md, conf/schema.json and the chart's schema
	@PYTHONPATH=lib $(BIN)/python scripts/write_docs.py
	@PYTHONPATH=lib $(BIN)/python scripts/config_schema.py

check: install ## Lint, format, types, that the locks hold what setup.cfg pins, and that the code is no larger than its limits
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python scripts/lock.py --check
	@$(BIN)/python scripts/size.py

format: install ## Put the code into the form that check wants
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

lock: install ## After a change of pins in setup.cfg: write requirements/*.lock anew (ARGS=--upgrade: the newest of all else)
	@$(BIN)/python scripts/lock.py $(ARGS)

zip: install ## Build dist/offset_sync.zip for --py-files
	@$(BIN)/python scripts/bundle.py

connect: install ## Build the jar that makes MirrorMaker 2 stamp its copies, into dist/; takes a JDK (docs/mirrors.md)
	@$(BIN)/python scripts/connect_jar.py

consumer: install ## Build the jar and the wheel by which consumers skip what their group has read elsewhere, into dist/; takes a JDK
	@$(BIN)/python scripts/consumer_wheel.py
	@$(BIN)/python scripts/consumer_jar.py

archive: install ## Pack the libraries for YARN into dist/environment.tar.gz
	@$(BIN)/python scripts/archive.py $(ARGS)

# ./data is left alone: tables and checkpoints may be somebody's history.
clean: ## Remove what builds, tests and checks left behind
	@rm -rf dist spark-warehouse metastore_db derby.log .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find lib jobs scripts tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## The same, and .venv and jars/
	@rm -rf .venv jars lib/*.egg-info
