# Everything works on a fresh machine with Python 3.11 and make. On Windows: from a shell that has sh, such as Git's.
PYTHON ?= $(shell for name in python3.11 python3 python; do command -v $$name && break; done)
VENV   := .venv
TOOLS  := .venv-tools
FLOWER := .venv-flower
FOLDER := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN    := $(VENV)/$(FOLDER)
STAMP  := $(VENV)/.installed

.PHONY: setup demo docs postgresql spark chromium flower page test check fuzz mutants bench paper paper-quick lock sbom dist clean

# Exact versions, checked by hash; what comes as source is built with tools that are locked as well. An environment is
# brought up to date when one of these is newer, and begun anew where an interruption has left its mark.
INSTALL := $(PYTHON) requirements/install.py
INSTALLER := $(addprefix requirements/,install.py pip_settings.py unfinished.py installer.txt)

setup: $(STAMP)

$(STAMP): pyproject.toml requirements/build.txt requirements/test.txt $(INSTALLER) $(wildcard $(VENV)/.installing)
	@$(INSTALL) $(VENV) build test --editable
	@touch $@

# The demo needs less than the tests do: a quick set-up of its own, unless the whole one is there.
demo: $(firstword $(wildcard $(STAMP)) $(VENV)/.demo)
	@$(BIN)/scumble demo

$(VENV)/.demo: pyproject.toml requirements/build.txt requirements/demo.txt $(INSTALLER) $(wildcard $(VENV)/.installing)
	@$(INSTALL) $(VENV) build demo --editable
	@touch $@

$(TOOLS)/.installed: requirements/tools.txt $(INSTALLER) $(wildcard $(TOOLS)/.installing)
	@$(INSTALL) $(TOOLS) tools
	@touch $@

$(VENV)/.installing $(TOOLS)/.installing $(FLOWER)/.installing: ;

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
chromium: setup
	@sh tests/chromium.sh $(BIN)/python

# Build the explorer page from web/ into the package. Needs Node.
page:
	cd web && npm ci --no-audit --no-fund && npm run build

# The checks and the paper's dry run take a core each. Then one thread for linear algebra: with two workers on two cores,
# a second one only waits, and takes time to do so. And bytecode is kept: hundreds of tests start a Python of their own.
# Assertions are plain in the first run, since each worker would rewrite all of them; what failed runs again and says why.
test: postgresql spark chromium flower
	@$(MAKE) --no-print-directory -j 2 check paper-quick
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal --assert=plain || \
	  { $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

# Readers of files against hostile ones, guided by coverage (what it has learned stays in .fuzz), and property tests on
# new examples; `make test` takes the same ones each time.
FUZZ_SECONDS ?= 600
fuzz: setup
	@sh tests/fuzz/atheris.sh $(BIN)/python
	$(BIN)/python tests/fuzz/guided.py $(FUZZ_SECONDS) .fuzz
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=search

# Would the tests notice? Change the source in one small place at a time and run the tests of its module: an hour or two.
# MUTANTS="--sample 120 --seed 1" runs so many at random, MUTANTS="--module privacy/exact.py" those of one module.
MUTANTS ?=
mutants: setup
	$(BIN)/python tests/mutants.py $(MUTANTS)

# Speed, relative to the machine's limit and to alternatives, into docs/speed.md. Takes about ten minutes.
bench: setup
	$(BIN)/python -m benchmarks.speed

# The paper's experiments with every rival: results.json, REPORT.md and figures in benchmarks/paper. Under two hours on
# two idle cores; can be stopped, and continues when called again.
paper: setup
	$(BIN)/python -m benchmarks.paper

# The same on small synthetic tables, into a folder that is thrown away: does everything run?
paper-quick: setup
	$(BIN)/python -m benchmarks.paper --quick

# The test of secure aggregation runs Flower, in an environment of its own.
flower: $(FLOWER)/.installed

$(FLOWER)/.installed: pyproject.toml requirements/build.txt requirements/flower.txt $(INSTALLER) $(wildcard $(FLOWER)/.installing)
	@$(INSTALL) $(FLOWER) build flower --editable
	@touch $@

# The newest versions that pyproject.toml allows, for every platform, with hashes: into requirements/.
lock: $(TOOLS)/.installed
	$(TOOLS)/$(FOLDER)/python requirements/lock.py

# What scumble is made of, into dist/: the Python packages with licenses and hashes, and what the explorer's page holds.
sbom: setup $(TOOLS)/.installed
	$(TOOLS)/$(FOLDER)/python requirements/sbom.py $(BIN)/python dist/sbom.cdx.json

# A source archive and a wheel with their checksums, into dist/: the same bytes wherever the same commit is built.
dist: setup
	$(BIN)/python requirements/dist.py dist

clean:
	rm -rf $(VENV) $(TOOLS) $(FLOWER) dist .pytest_cache .ruff_cache .mypy_cache .hypothesis demo-output site
