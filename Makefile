# The commands of this house: demo, test, check, bench. Virtual environments are made when they are missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPLAY := .venv-replay
VECTORS := .vectors/html5lib-tests
COMPILED := $(wildcard scrawler/extract/linkscan_c/*.[ch]) scrawler/extract/_simhash.c $(wildcard scrawler/urls/*.[ch])
PYTEST_ARGS ?=
# Tests wait for pauses and leases more than they compute.
PYTEST = $(BIN)/python -m pytest -n 4 --dist worksteal
TORTURE_ARGS ?=
FUZZ_ARGS ?=

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-quick test-all test-plain test-replay torture fuzz check format bench experiments schema clean

help:  ## Show these lines
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed  ## Crawl a synthetic web on this machine's loopback, and show what came of it
	@rm -rf demo && mkdir demo && cd demo && PATH="$(abspath $(BIN)):$$PATH"; \
	coproc WEB { exec scrawler synthweb --port 0 --sites 50 --max-pages 200 --seeds-file seeds.txt --stop-with-stdin; }; \
	read -r ready <&"$${WEB[0]}"; echo "$$ready"; \
	set -x; \
	scrawler import seeds.txt; \
	scrawler run --allow-private --delay 0.02 --user-agent 'SCrawler-demo (+mailto:demo@localhost)'; \
	scrawler status; \
	{ set +x; } 2> /dev/null; \
	echo; echo "Look at demo/: pages/ (WARC), output_urls/crawl.txt (seeds and candidate seeds), scrawler.db (SQLite)."; \
	echo "Ask on:  cd demo; ../$(BIN)/scrawler seeds | head;  ../$(BIN)/scrawler pages --seed $$(head -n 1 seeds.txt)"; \
	echo "         ../$(BIN)/scrawler why $$(head -n 1 seeds.txt)nowhere;  ../$(BIN)/scrawler report --html report.html"

test: $(VENV)/.developed $(VECTORS)  ## Run the tests (those on MariaDB need mariadbd, and are skipped loudly without)
	@echo "This takes some 10 minutes on two idle cores; make test-quick takes one, make test-all runs what is heavy too."
	@$(PYTEST) -m "not heavy" $(PYTEST_ARGS)

test-quick: $(VENV)/.developed  ## Run the tests of decisions, without network and databases
	@echo "This takes some 60 seconds on two idle cores."
	@$(PYTEST) -m "not heavy" tests/unit $(PYTEST_ARGS)

test-all: $(VENV)/.developed $(VECTORS) $(REPLAY)/.installed  ## Run all tests, the heavy ones as well
	@echo "This takes some 15 minutes on two idle cores."
	@$(PYTEST) $(PYTEST_ARGS)

test-plain: $(VENV)/.developed $(VECTORS)  ## Run the tests of decisions and the fault web without the compiled parts
	@echo "This takes some 2 minutes on two idle cores."
	@TEST_PLAIN=1 $(PYTEST) -m "not heavy" tests/unit tests/integration/crawl/test_fault_web.py $(PYTEST_ARGS)

torture: $(VENV)/.developed  ## Kill, freeze and restart machines, supervisors and databases for long; SEED=N repeats
	@$(BIN)/python -m tests.torture $(if $(SEED),--seed $(SEED)) $(TORTURE_ARGS)

fuzz: $(VENV)/.developed  ## Crawl thousands of answers damaged at random; SEED=N repeats them
	@$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) $(FUZZ_ARGS)

test-replay: $(VENV)/.developed $(REPLAY)/.installed  ## Let pywb replay pages from WARC and CDXJ files
	@$(BIN)/python -m pytest tests/integration/archive/test_archive_replay.py $(PYTEST_ARGS)

check: $(VENV)/.developed  ## Lint, check the format, the types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.developed  ## Sort imports and format the code
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(VENV)/.developed  ## Measure speed; takes some minutes and wants a quiet machine
	@for bench in tests/bench/*.py; do echo "== $$bench"; PYTHONPATH=. $(BIN)/python "$$bench"; done
	@echo "== threads"; $(BIN)/python -m experiments.bench.threads_bench

experiments: $(VENV)/.developed  ## Check the papers' figures and ours; some hours, QUICK=1 some minutes
	@$(BIN)/python -m experiments $(if $(QUICK),--quick)

schema: $(VENV)/.installed  ## Write the schema files in sql/ anew from the tables
	@for dialect in mysql sqlite; do $(BIN)/python -m scrawler.store.ddl $$dialect > sql/$$dialect/schema.sql; done

clean:  ## Remove the virtual environments, caches and the demo's folder
	rm -rf $(VENV) $(REPLAY) scrawler/*/_*.so demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed; say which: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "venv is missing; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/.installed: setup.py $(COMPILED) | $(BIN)/python
	@echo "installing SCrawler in $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.developed: setup.py $(COMPILED) | $(BIN)/python
	@echo "installing SCrawler and its development tools in $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.installed

# pywb has an environment of its own: its brotlipy takes the place of brotli.
$(REPLAY)/.installed:
	@echo "installing pywb in $(REPLAY) ..."
	@$(PYTHON) -m venv $(REPLAY)
	@$(REPLAY)/bin/python -m pip install --quiet --disable-pip-version-check pywb==2.10.0
	@touch $@

# Test pages that others wrote, out of html5lib's source package; its own setup.py needs an older setuptools. Without the
# package index their tests are skipped.
$(VECTORS): | $(BIN)/python
	@echo "fetching the test pages of html5lib ..."
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; echo 'setuptools<81' > "$$folder/constraints"; \
	if PIP_CONSTRAINT="$$folder/constraints" PIP_BUILD_CONSTRAINT="$$folder/constraints" $(BIN)/python -m pip download \
	  --quiet --disable-pip-version-check --use-pep517 --no-deps --no-binary html5lib --dest "$$folder" html5lib==1.1 \
	  && tar -xzf "$$folder"/html5lib-1.1.tar.gz -C "$$folder" html5lib-1.1/html5lib/tests/testdata; then \
	  mkdir -p $(@D) && cp -r "$$folder"/html5lib-1.1/html5lib/tests/testdata $@; \
	else echo "they are not to be had now: tests that read them are skipped"; fi
