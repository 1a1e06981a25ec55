# The commands of this house: demo, test, check, bench. Virtual environments are made when they are missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPLAY := .venv-replay
S3 := .venv-s3
HOT := .venv-compiled
VECTORS := .vectors/html5lib-tests
SOURCES := $(shell find scrawler -name '*.py') $(wildcard sql/*/*.sql sql/*/migrations/*.sql)
COMPILED := $(wildcard scrawler/extract/linkscan_c/*.[ch]) scrawler/extract/_simhash.c scrawler/archive/_records.c \
	scrawler/core/party/_archived.c scrawler/fetch/_heads.c scrawler/store/_sums.c scrawler/seldom.h \
	$(wildcard scrawler/urls/*.[ch])
PYTEST_ARGS ?=
# How the hot path is compiled: `quickly`, for tests of what it does, takes half the time, and the program is slower.
COMPILED_HOW ?= 1
PLAIN ?= tests/unit tests/integration/crawl/test_fault_web.py
# Tests wait for pauses and leases more than they compute. A file is one process's: its crawls that several tests read are made once.
PYTEST = $(BIN)/python -m pytest -n 4 --dist loadfile
# There the package is installed: the source's folder comes last on the path of all programs, and is on no other one.
PYTEST_COMPILED = TEST_COMPILED=1 PYTHONSAFEPATH=1 $(HOT)/bin/python -m pytest -n 4 --dist worksteal -o pythonpath=
TORTURE_ARGS ?=
FUZZ_ARGS ?=
# The distribution was called as the package before, and an environment keeps what has another name.
WITHOUT_OLD_NAME = $(BIN)/python -m pip --disable-pip-version-check uninstall --quiet --yes scrawler 2> /dev/null
# `make docs` needs no development tools; beside other targets it takes what they install, for two pips would collide.
DOCUMENTED = $(VENV)/$(if $(filter-out docs,$(MAKECMDGOALS)),.developed,.documented)
# Python compiles a module when it is first wanted: of most that are installed none ever is.
PIP := pip install --no-compile --disable-pip-version-check --progress-bar off
# What pip waits for, in one line that grows.
TELLING := awk '$$1 == "Collecting" { printf " %s", $$2; fflush() } /^Installing collected/ { printf " - writing"; fflush() } \
	/looking at multiple versions/ { printf " (another one)"; fflush() } END { print "." }'

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
# Said of a single command alone: .venv has the hot path in Python.
unexport SCRAWLER_COMPILED
# Hundreds of tests start a program, and each would compile all of its modules anew.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help demo compiled collected test test-quick test-all test-servers test-experiments test-compiled test-plain test-replay pythons torture fuzz check format bench experiments schema reference docs man dist clean

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

compiled: $(HOT)/.installed  ## Compile the hot path by mypyc, for .venv-compiled/bin/scrawler

test: $(VENV)/.developed $(VECTORS) $(S3)/.installed  ## Run the tests (those on MariaDB and PostgreSQL need their servers, and are skipped loudly without)
	@echo "This takes some 10 minutes on two idle cores; make test-quick takes one, make test-all runs what is heavy too."
	@$(PYTEST) -m "not heavy and not servers and not experiments" $(PYTEST_ARGS)

test-quick: $(VENV)/.developed  ## Run the tests of decisions, without network and databases
	@echo "This takes some 60 seconds on two idle cores."
	@$(PYTEST) -m "not heavy and not servers and not experiments" tests/unit $(PYTEST_ARGS)

test-all: $(VENV)/.developed $(VECTORS) $(S3)/.installed $(REPLAY)/.installed  ## Run the heavy tests as well, all but those of test-servers and test-experiments
	@echo "This takes some 15 minutes on two idle cores."
	@$(PYTEST) -m "not servers and not experiments" $(PYTEST_ARGS)

test-servers: $(VENV)/.developed  ## Run all whole crawls on MariaDB and PostgreSQL as well
	@echo "This takes some 10 minutes on two idle cores."
	@$(PYTEST) -m servers $(PYTEST_ARGS)

test-experiments: $(VENV)/.developed  ## Run the short form of each experiment, and the crawlers beside which we stand
	@echo "This takes some 10 minutes on two idle cores."
	@$(PYTEST) -m experiments $(PYTEST_ARGS)

test-compiled: $(HOT)/.installed $(VECTORS) $(S3)/.installed $(REPLAY)/.installed  ## Run all tests with the hot path compiled by mypyc
	@echo "This takes some 15 minutes on two idle cores."
	@$(PYTEST_COMPILED) $(PYTEST_ARGS)

test-plain: $(VENV)/.developed $(VECTORS)  ## Run the tests of decisions and the fault web without the compiled parts
	@echo "This takes some 2 minutes on two idle cores."
	@TEST_PLAIN=1 $(PYTEST) -m "not heavy and not servers and not experiments" $(PLAIN) $(PYTEST_ARGS)

# pytest compiles the files of tests so that they tell why they fail: here once, where else each worker would do it.
collected: $(VENV)/.developed
	@$(BIN)/python -m pytest --collect-only --quiet > /dev/null || true

pythons:  ## Try the demo and the unit tests on Python 3.11 to 3.14, as far as they can be had; PYTHONS=3.14 one alone
	@$(PYTHON) tests/pythons.py $(PYTHONS)

torture: $(VENV)/.developed  ## Kill, freeze, cut off and restart machines, agents, supervisors and databases for long; SEED=N repeats
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
	@for dialect in mysql postgresql sqlite; do $(BIN)/python -m scrawler.store.schema.ddl $$dialect > sql/$$dialect/schema.sql; done

reference: $(VENV)/.developed  ## Write what the documentation says of settings, commands, parts and tables anew
	@$(BIN)/python -m docsite

man: $(VENV)/.installed  ## Write the manual pages, in man, from the help
	@rm -rf man && $(BIN)/python -m scrawler.cli.manual man
	@echo "the manual pages are in man; man -l man/scrawler.1 shows one, and pip installs them with the package"

# The wheel is built from the source archive, so that what is missing there is missed.
dist: man  ## Build a source archive and a wheel of this machine, in dist
	@rm -rf dist && $(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	@$(BIN)/python -m build && $(BIN)/python -m twine check --strict dist/*

# Material's word on the future of MkDocs is no warning of ours. What is quiet (--quiet) is not strict any more.
docs: $(DOCUMENTED)  ## Build the documentation as a site, in build/docs
	@mkdir -p build; NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict > build/docs.log 2>&1 \
	  || { grep -v ^INFO build/docs.log; exit 1; }
	@echo "the documentation is in build/docs/index.html"

clean:  ## Remove the virtual environments, caches and the demo's folder
	find scrawler -name '*.so' -delete
	rm -rf $(VENV) $(HOT) $(REPLAY) $(S3) *.so scrawler/compiled_modules.txt demo build dist man *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed; say which: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "venv is missing; on Debian: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/.installed: setup.py $(COMPILED) | $(BIN)/python
	@echo "installing SCrawler in $(VENV), which takes half a minute or more ..."
	@$(WITHOUT_OLD_NAME)
	@$(BIN)/python -m $(PIP) --editable . | $(TELLING)
	@touch $@

$(VENV)/.documented: setup.py $(COMPILED) | $(BIN)/python
	@echo "installing SCrawler and what builds its documentation in $(VENV), which takes a minute or more ..."
	@$(WITHOUT_OLD_NAME)
	@$(BIN)/python -m $(PIP) --editable '.[docs]' | $(TELLING)
	@touch $@ $(VENV)/.installed

$(VENV)/.developed: setup.py $(COMPILED) | $(BIN)/python
	@echo "installing SCrawler and its development tools in $(VENV), 140 packages and 400 MB, which takes minutes ..."
	@$(WITHOUT_OLD_NAME)
	@$(BIN)/python -m $(PIP) --editable '.[dev]' | $(TELLING)
	@touch $@ $(VENV)/.installed $(VENV)/.documented

# An environment that has all that .venv has, but the package itself: that is compiled from these sources, and installed.
$(HOT)/.installed: setup.py $(COMPILED) $(SOURCES) | $(VENV)/.developed
	@echo "compiling the hot path for $(HOT), which takes a minute or two ..."
	@$(BIN)/python -m venv --clear --without-pip $(HOT)
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"), "$(CURDIR)", sep="\n")' > "$$($(HOT)/bin/python -c \
	  'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
	@rm -rf build/compiled/lib*  # modules that have moved would stay
	@SCRAWLER_COMPILED=$(COMPILED_HOW) $(BIN)/python -m pip --python $(HOT)/bin/python install --quiet \
	  --disable-pip-version-check --no-build-isolation --no-deps --ignore-installed .
	@touch $@

# pywb has an environment of its own: its brotlipy takes the place of brotli.
$(REPLAY)/.installed:
	@echo "installing pywb and py-wacz in $(REPLAY) ..."
	@$(PYTHON) -m venv $(REPLAY)
	@$(REPLAY)/bin/python -m $(PIP) pywb==2.10.0 wacz==0.6.0 | $(TELLING)
	@touch $@

# moto plays S3. No s3fs goes with the boto3 that it takes: in one environment pip would try hundreds of releases.
$(S3)/.installed:
	@echo "installing moto in $(S3) ..."
	@$(PYTHON) -m venv $(S3)
	@$(S3)/bin/python -m $(PIP) 'moto[s3]==5.2.5' flask flask-cors | $(TELLING)
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
