# Everything works on a fresh machine with Python 3.11 and make.
PYTHON ?= $(firstword $(shell command -v python3.11 python3 python))
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup demo docs postgresql spark chromium page test check fuzz mutants bench paper paper-quick clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group test
	@touch $@

# The demo needs less than the tests do: a quick set-up of its own, unless the whole one is there.
demo: $(firstword $(wildcard $(STAMP)) $(VENV)/.demo)
	@$(BIN)/scumble demo

$(VENV)/.demo: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plot]"
	@touch $@

# The site, in site/: open site/index.html. Its theme's notices are not about this project.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Formatting, lint, types and import direction; then every test.
check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The tests of databases start a server of their own; its programs must be there.
postgresql:
	@sh tests/postgresql.sh

# The tests of Spark start a cluster on this machine; Java must be there.
spark:
	@sh tests/spark.sh

# The tests of the explorer page drive a browser.
chromium:
	@sh tests/chromium.sh

# The explorer page, from web/ into the package: for who changes it. Needs Node.
page:
	cd web && npm ci --no-audit --no-fund && npm run build

test: check postgresql spark chromium paper-quick
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Whatever reads a file, against hostile ones, guided by coverage. What it has learnt stays in .fuzz, for the next time.
FUZZ_SECONDS ?= 600
fuzz: setup
	@sh tests/fuzz/atheris.sh $(BIN)/python
	$(BIN)/python tests/fuzz/guided.py $(FUZZ_SECONDS) .fuzz

# Would the tests notice? One small change of the source at a time, each against the tests of its module: an hour or two.
# MUTANTS="--sample 120 --seed 1" runs so many at random, MUTANTS="--module privacy/exact.py" those of one module.
MUTANTS ?=
mutants: setup
	$(BIN)/python tests/mutants.py $(MUTANTS)

# How fast, beside the machine's limit and the alternatives: some ten minutes, into docs/speed.md.
bench: setup
	$(BIN)/python -m benchmarks.speed

# The paper's experiments with every rival: results.json, REPORT.md and figures in benchmarks/paper. Under two hours on
# two quiet cores; may be stopped, and goes on when called again.
paper: setup
	$(BIN)/python -m benchmarks.paper

# The same on small made-up tables, into a folder that is thrown away: does everything run?
paper-quick: setup
	$(BIN)/python -m benchmarks.paper --quick

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .hypothesis demo-output site
