# Two commands do everything on a machine that has Python 3.11 and make:
#   make train   trains a first model, on MUTAG, which comes with the package
#   make test    lints, type-checks, runs all tests
# make docs builds the website into site/.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

# One thread a process: tiny kernels on several threads are many times slower under contention.
export OMP_NUM_THREADS ?= 1

.PHONY: train test browser without-data quick lint docs install soak release-check clean

train: $(INSTALLED)
	$(BIN)/bankgcn train

# The real datasets, where they are; tests that need one skip with its name where it is not.
test: export BANKGCN_DATA ?= $(abspath ../shared/data)
test: lint browser
	$(BIN)/pytest -n 2 -q
	$(BIN)/pytest -n 2 -q -m slow

# The tests that differ where no dataset is at hand: those that ask for data_root. No other test sees datasets, which
# tests/test_reproducible.py checks.
without-data: $(INSTALLED)
	BANKGCN_DATA=$$(mktemp -d) $(BIN)/pytest -q -m datasets
	BANKGCN_DATA= $(BIN)/pytest -q tests/test_reproducible.py

quick: $(INSTALLED)  # what a change wants between two thoughts
	$(BIN)/pytest -n 2 -q

# The browser for the tests of the HTML pages, where this user may install it; elsewhere these tests skip and say why.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get install -y -qq chromium >/dev/null 2>&1 && exit 0; \
		apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq chromium >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "no Chromium: the tests of the HTML pages in a browser are skipped (apt-get install chromium)"

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(INSTALLED)
	$(BIN)/mkdocs build --strict  # with --quiet, it would not count its warnings

install: $(INSTALLED)

# What takes too long for the tests: damage, kills, strange graphs and molecules, memory. About an hour; see docs/reliability.md.
soak: export PYTHONPATH := src:soak
soak: $(INSTALLED)
	$(BIN)/python soak/damage.py --trials 3000
	$(BIN)/python soak/kills.py --kills 200
	$(BIN)/python soak/stream_kills.py --kills 50
	$(BIN)/python soak/two_sweeps.py --rounds 20
	$(BIN)/python soak/strange.py
	$(BIN)/python soak/smiles.py --molecules 200000
	$(BIN)/python soak/memory.py --epochs 1000 --runs 100
	$(BIN)/python soak/lost_nodes.py --rounds 10

# Builds the packages, installs the wheel into a fresh environment away from the sources, and trains from it.
release-check: $(INSTALLED)
	rm -rf dist .release
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv .release
	.release/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	cd .release && bin/bankgcn --version && bin/bankgcn train --out trained
	rm -rf .release

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .release dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
