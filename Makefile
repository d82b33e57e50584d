# Needs make and Python 3.11 or newer; everything else goes into .venv.
PYTHON ?= python3
DATA ?= $(wildcard $(or $(ONWARD_SHARED),../shared)/data)
BIN := .venv/bin
STAMP := .venv/installed
# Installed modules are compiled by all processors at once, and those that are only tests of others not at all.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile --constraint requirements.lock
COMPILE := -m compileall -q -j 0 -x '/tests?/'

# Where Python may not keep its bytecode, every process of the tests compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install install-dice install-python newest-python demo test test-pythons check types unit test-slow test-rl attacks kafka-test faults fuzz lock audit sbom bench generate fmt clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## make .venv with everything in it (nothing to do when it is current)

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Onward needs Python 3.11 or newer; say which with make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) --editable '.[dev]'
	@$(BIN)/python $(COMPILE) .venv/lib >/dev/null || true  # some packages hold templates that are no Python
	@touch $@

demo: install ## see it at work: rejected people get a way forward, and the learner gets better
	$(BIN)/onward demo

# Types are checked beside the tests: it keeps one processor busy for a minute.
test: check ## format, lint, types and tests
	@$(MAKE) --no-print-directory -j2 types unit

check: install
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

# mypy wants to see the root under the package's name, whatever the checkout's folder is called.
types: install
	@mkdir -p build/mypy && ln -sfn ../.. build/mypy/onward
	cd build && MYPYPATH=mypy ../$(BIN)/mypy --config-file ../pyproject.toml --no-error-summary -p onward
	cd build && MYPYPATH=mypy:../docs/examples/own ../$(BIN)/mypy --config-file ../pyproject.toml \
		--explicit-package-bases --no-error-summary \
		../docs/examples/*.py ../docs/examples/*/*.py

# Tests wait for brokers and processes, so there are more of them at once than processors. Each process gets rows of
# files, whose fixtures are made once; libraries with threads of their own would only wait for one another. What compiles
# for tests alone is compiled in less time, and kept apart from what runs elsewhere.
PARALLEL := -n 3 --dist worksteal
UNIT := $(PARALLEL) -m 'not rl and not kafka and not slow'
unit attacks test-pythons test-rl: export OMP_NUM_THREADS := 1
unit attacks test-pythons test-rl: export NUMBA_OPT := 1
unit attacks test-pythons test-rl: export NUMBA_CACHE_DIR := $(CURDIR)/build/numba-tests
unit: install
	$(BIN)/pytest $(UNIT)

test-slow: install ## the tests that play benchmarks
	$(BIN)/pytest -n 2 -m slow

attacks: install ## what somebody may send or announce to harm: the tests of the mark "attack"
	$(BIN)/pytest $(PARALLEL) -m 'attack and not kafka'

test-rl: .venv/rl ## train small agents with torch, and check that they learn
	$(BIN)/pytest -m rl $$(grep -rl --include='test_*.py' 'mark\.rl' tests)

TORCH := $(shell sed -n 's/^rl = \["\(torch==[^"]*\)"\]$$/\1/p' pyproject.toml)

# The build of torch for processors alone: that of PyPI brings gigabytes for graphics cards.
.venv/rl: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 1 --no-deps \
		--index-url https://download.pytorch.org/whl/cpu '$(TORCH)'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[dev,rl]'
	@touch $@

# Of each version the one on the path that runs, else the newest of pyenv.
PYTHONS ?= $(shell pyenv=$${PYENV_ROOT:-$$(pyenv root 2>/dev/null)}; for minor in 11 12 13 14; do \
	for python in python3.$$minor $$(ls -d "$$pyenv"/versions/3.$$minor.*/bin/python3.$$minor 2>/dev/null | sort -rV); do \
		if $$python -c "" 2>/dev/null; then echo $$python; break; fi; \
	done; \
done)
VERSION := -c 'import sys; print("%d.%d" % sys.version_info[:2])'

# What fails on one version does not keep the others from running.
test-pythons: ## the tests on every installed Python from 3.11 to 3.14, or on PYTHONS="python3.12 ..."; TESTS="tests/... ..."
	@test -n "$(strip $(PYTHONS))" || { echo "no python3.11 to python3.14 on the path: give PYTHONS=..."; exit 1; }
	@failed=; for python in $(PYTHONS); do \
		version=$$($$python $(VERSION)) && echo "Python $$version" && \
		$(MAKE) --no-print-directory install-python PYTHON=$$python && \
		build/pythons/$$version/bin/pytest $(UNIT) $(TESTS) || failed="$$failed $$python"; \
	done; test -z "$$failed" || { echo "failed on:$$failed"; exit 1; }

# An environment of its own for PYTHON.
install-python:
	@venv=build/pythons/$$($(PYTHON) $(VERSION)) && \
	if [ ! $$venv/installed -nt pyproject.toml ] || [ ! $$venv/installed -nt requirements.lock ]; then \
		$(PYTHON) -m venv $$venv && $$venv/bin/python $(INSTALL) --editable '.[dev]' && \
		{ $$venv/bin/python $(COMPILE) $$venv/lib >/dev/null || true; } && touch $$venv/installed; \
	fi

# The newest Python that is installed; nothing where .venv has it.
newest-python: install
	@newest=$(lastword $(PYTHONS)); test -z "$$newest" || \
		test "$$($$newest $(VERSION))" = "$$($(BIN)/python $(VERSION))" || echo $$newest

COMPOSE := docker compose --project-name onward-test

# A Kafka of its own, with nothing of what `docker compose up` keeps, and gone at the end whatever happens.
kafka-test: install ## the tests on a real Kafka: from KAFKA_HOME, else docker compose, else the shared folder
	@if [ -n "$$KAFKA_HOME$$ONWARD_KAFKA_BOOTSTRAP" ] || ! { docker info && docker compose version; } >/dev/null 2>&1; then \
		exec $(BIN)/pytest -m kafka -rs; \
	fi; \
	trap '$(COMPOSE) down --volumes' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	$(COMPOSE) up --detach --wait kafka && ONWARD_KAFKA_BOOTSTRAP=localhost:29092 $(BIN)/pytest -m kafka -rs

faults: install ## workers and brokers killed, suspended and starved for minutes: make faults SEED=7 MINUTES=10
	$(BIN)/python -m onward.tests.faults.suite --seed $(or $(SEED),0) --minutes $(or $(MINUTES),10)

fuzz: .venv/fuzz ## every decoder under atheris: make fuzz INPUTS=100000 SEED=7 ONLY="spec table"
	$(BIN)/python tests/fuzz/fuzz.py --inputs $(or $(INPUTS),20000) --seed $(or $(SEED),1) $(ONLY)

.venv/fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[fuzz]'
	@touch $@

# The versions of requirements.lock that the image takes, with the hashes of their files for every platform.
lock: build/lock/installed ## deploy/requirements.lock, from requirements.lock and PyPI
	grep -v '^#' requirements.lock > build/constraints.txt
	sed -n 's/^requires = \["\(setuptools.*\)"\]$$/\1/p' pyproject.toml > build/build-system.txt
	build/lock/bin/uv pip compile pyproject.toml build/build-system.txt --extra onnx --extra archive --extra console --constraint build/constraints.txt \
		--generate-hashes --universal --python-version 3.11 --no-annotate --no-header --quiet --output-file deploy/requirements.lock

build/lock/installed:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.8,<1'
	@touch $@

# Of the locked versions, asked at PyPI; without an answer it fails.
audit: build/audit/installed ## known vulnerabilities of the locked packages
	build/audit/bin/pip-audit --vulnerability-service pypi --strict --disable-pip --no-deps \
		--requirement requirements.lock

sbom: install build/audit/installed ## what is installed, as CycloneDX: build/sbom.json
	build/audit/bin/cyclonedx-py environment --output-file build/sbom.json $(BIN)/python

# In an environment of their own: nothing of Onward needs them.
build/audit/installed:
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.9,<3' 'cyclonedx-bom>=7,<8'
	@touch $@

bench: $(patsubst benchmarks/%.py,bench-%,$(filter-out benchmarks/__init__.py benchmarks/face.py,$(wildcard benchmarks/*.py))) ## run every benchmark

bench-pipeline: build/quix/installed

# It pins older versions of what Onward needs too.
build/quix/installed: benchmarks/arena/quix_streams.txt | install
	$(PYTHON) -m venv build/quix
	build/quix/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	build/quix/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

bench-bandits: build/bandits/installed

# What others would pick, in an environment of its own: nothing of Onward needs it.
build/bandits/installed: pyproject.toml | install
	$(PYTHON) -m venv build/bandits
	build/bandits/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[bench-bandits]'
	@touch $@

# DATA= is the folder of the data sets, SEEDS= the seeds of the main comparison, JOBS= how many processes play side by
# side, ARGS= what else the benchmark takes.
bench-arlim: install ## ARLIM's experiments, all tables and figures: make bench-arlim DATA=DIR SEEDS=0-9 JOBS=2 ARGS="--methods linucb"
	$(BIN)/python -m onward.benchmarks.arlim --experiments all $(addprefix --data ,$(DATA)) --seeds $(or $(SEEDS),0-9) \
		--jobs $(or $(JOBS),2) --figures build/benchmarks/arlim $(ARGS) --json build/benchmarks/arlim.json

# DiCE needs pandas, which nothing of Onward does, so it gets an environment of its own. The tables are printed without it too.
build/dice/installed: pyproject.toml | install
	$(PYTHON) -m venv build/dice
	build/dice/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[bench-dice]'
	@touch $@

install-dice: build/dice/installed ## DiCE, which bench-options and bench-durable ask where it is installed

bench-options: install ## what the generators propose: make bench-options DATA=DIR ARGS="--people 50"
	@$(MAKE) --no-print-directory build/dice/installed || echo "DiCE could not be installed: it is left out"
	$(BIN)/python -m onward.benchmarks.options --plot build/options.svg $(addprefix --data ,$(DATA)) $(ARGS) --json build/benchmarks/options.json

bench-told: install ## what more breaks, and what a floor costs: make bench-told DATA=DIR ARGS="--people 50"
	$(BIN)/python -m onward.benchmarks.told $(addprefix --data ,$(DATA)) $(ARGS) --json build/benchmarks/told.json

bench-worlds: install ## learners in worlds with a known truth: make bench-worlds DATA=DIR ARGS="--seeds 0-4" or REAL="--settings late"
	$(BIN)/python -m onward.benchmarks.worlds $(addprefix --data ,$(DATA)) $(ARGS) --json build/benchmarks/worlds.json
	$(BIN)/python -m onward.benchmarks.worlds --parts real --seeds 0-2 $(REAL) --json build/benchmarks/real_worlds.json

bench-durable_recommenders: install ## table 1 of durable recourse: make bench-durable_recommenders ARGS="--target 0.9"
	$(BIN)/python -m onward.benchmarks.durable_recommenders $(ARGS) --json build/benchmarks/durable_recommenders.json

bench-durable: install ## rounds with limited places: make bench-durable ARGS="--worlds FILE.npz" or ARGS="--parts named,drift"
	$(BIN)/python -m onward.benchmarks.durable --figures build/benchmarks/durable $(ARGS) --json build/benchmarks/durable.json

bench-robust: install ## robust recourse and promises: make bench-robust DATA=DIR ARGS="--instances FILE.npz" or ARGS="--parts speed"
	$(BIN)/python -m onward.benchmarks.robust $(addprefix --data ,$(DATA)) $(ARGS) --json build/benchmarks/robust.json

bench-workers: install ## what one, two and three workers do: make bench-workers DATA=DIR ARGS="--applications 2000"
	$(BIN)/python -m onward.benchmarks.workers $(addprefix --data ,$(DATA)) $(ARGS) --json build/benchmarks/workers.json

bench-pear: install ## PEAR's tables and figures: make bench-pear ARGS="--users FILE.npz" or ARGS="--parts table1,figure3"
	$(BIN)/python -m onward.benchmarks.pear --figures build/benchmarks/pear $(ARGS) --json build/benchmarks/pear.json

bench-inspire: install ## options for people whose preferences nobody knows: make bench-inspire ARGS="--users FILE.npz" or ARGS="--parts table1"
	$(BIN)/python -m onward.benchmarks.inspire --figures build/benchmarks/inspire $(ARGS) --json build/benchmarks/inspire.json

bench-%: install ## run one benchmark: make bench-NAME; its rows go to build/benchmarks/NAME.json
	$(BIN)/python -m onward.benchmarks.$* --json build/benchmarks/$*.json

generate: install ## write what is made from the code: the board, the schemas, the tables of docs and the recorded picks
	$(BIN)/python -m onward.deploy.grafana.board
	$(BIN)/python -m onward.deploy.generate.schemas
	$(BIN)/python -m onward.deploy.generate.page_tables
	$(BIN)/python -m onward.tests.support.recorded_picks

fmt: install ## format and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove .venv and everything that was built
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
