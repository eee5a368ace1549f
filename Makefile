# `make` or `make help` lists what can be done.
#
# .venv has two stages with one stamp each: what exhume needs to run, and what its tests need on
# top. A stage is rebuilt only when its lock file, pyproject.toml or the C source has changed.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE # two runs of pytest compile a thousand files of tests once

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -qq
UV     ?= $(BIN)/uv

NATIVE    := $(wildcard src/exhume/*/*.c src/exhume/*/*.h)
RUN_STAMP := $(VENV)/.run-ready
DEV_STAMP := $(VENV)/.dev-ready

# Tests side by side; those that listen to the whole machine come after them, one by one.
JOBS ?= $(shell nproc)
define pytest
$(BIN)/pytest $(1) $(ARGS) || [ $$? -eq 5 ] # 5: none of those chosen is of this kind
endef

# The page: TypeScript in ui/, built into the package. Without Node.js everything else still works.
NPM        ?= npm
NODE_STAMP := ui/node_modules/.ready
PAGE       := src/exhume/web/static/index.html
PAGE_FROM  := $(shell find ui/src ui/public ui/index.html ui/vite.config.ts ui/tsconfig.json -type f 2>/dev/null)

# Programs that read what exhume exports (speedscope, the Firefox Profiler), for tests/export.
READERS := tests/export/node

# The folders that hold Python now: mypy refuses one without any.
PY_DIRS := $(foreach d,src tests bench lab,$(if $(shell find $d -name '*.py' -print -quit 2>/dev/null),$d))

# Everything `make check` does, in this order. To add a check, write its target and name it here.
CHECKS := check-lint check-format check-types check-generated check-imports check-page

# A bench is a module of bench/ whose name has no leading underscore; it runs as python -m bench.NAME.
BENCHES ?= $(filter-out _%,$(basename $(notdir $(wildcard bench/*.py))))

##@ Use

.PHONY: help
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: setup ## record this node and say where to look (exhume up); ARGS="--hz 49" adds options
	@exec $(BIN)/exhume up $(ARGS)

.PHONY: setup
setup: $(RUN_STAMP) page ## .venv with exhume inside, and the page; quick when nothing changed
	@:

.PHONY: page
page: ## build only the page (needs Node.js 20.19 or newer)
	@if $(have-node); then $(MAKE) $(PAGE); else \
	  echo "setup: the page is not built: Node.js 20.19 or newer and npm are not here (https://nodejs.org)"; \
	  echo "setup: everything in the terminal and the HTTP API work without; later: make page"; fi

##@ Develop

.PHONY: setup-dev
setup-dev: $(DEV_STAMP) page ## setup, and what check, test and bench need
	@:

.PHONY: check
check: $(CHECKS) ## lint, format, types, generated files, import directions

.PHONY: test
test: setup-dev check ## check, then every test; ARGS="-k store" chooses
	@if $(have-node); then $(MAKE) test-page; fi
	$(call pytest,-m "not kernel" -n $(JOBS) --dist loadfile --no-loadscope-reorder)
	@code=0; $(BIN)/pytest -m kernel $(ARGS) || code=$$?; \
	if [ $$code -eq 1 ]; then \
	  echo "tests of the real kernel hear everybody on this machine: what failed runs once more, alone"; \
	  code=0; $(BIN)/pytest -m kernel --last-failed $(ARGS) || code=$$?; fi; \
	[ $$code -eq 0 ] || [ $$code -eq 5 ]

.PHONY: test-page
test-page: $(NODE_STAMP)
	cd ui && $(NPM) test --silent

.PHONY: soak
soak: setup-dev ## the tests marked soak, repeated for long
	EXHUME_SOAK=1 $(BIN)/pytest -m soak --timeout=3600 $(ARGS)

.PHONY: bench
bench: setup-dev ## every bench; BENCHES="overhead size" chooses
	@$(if $(strip $(BENCHES)),,echo "bench/ has no bench yet")
	@for name in $(BENCHES); do echo "== bench.$$name"; $(BIN)/python -m bench.$$name $(ARGS); done

.PHONY: format
format: setup-dev ## rewrite the sources as check-lint and check-format want them
	$(BIN)/ruff check --fix $(PY_DIRS)
	$(BIN)/ruff format $(PY_DIRS)

.PHONY: generate
generate: setup-dev ## write anew what is made from the code: docs/commands.md, fields.md, metrics.md, schema/, openapi.json, ui/src/api.ts
	@for module in $(GENERATORS); do $(BIN)/python -m $$module; done

.PHONY: lock
lock: setup-dev ## renew both lock files from pyproject.toml; ARGS=--upgrade takes new versions
	$(call compile-lock,requirements.lock,--extra build)
	$(call compile-lock,requirements-dev.lock,--extra build --extra dev --constraint requirements.lock)

.PHONY: clean
clean: ## remove .venv, caches and everything built
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests bench lab -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	rm -f src/exhume/*/_*.so
	rm -rf ui/node_modules src/exhume/web/static

# --- the single checks -----------------------------------------------------------------------

.PHONY: check-lint check-format check-types check-generated check-imports
check-lint: setup-dev
	$(BIN)/ruff check $(PY_DIRS)

check-format: setup-dev
	$(BIN)/ruff format --check $(PY_DIRS)

check-types: setup-dev
	$(BIN)/mypy --num-workers auto $(PY_DIRS)

# Docs and schemas that are made from the code; the same modules without --check write them anew.
GENERATORS := exhume.cli.schemas exhume.cli.reference exhume.cli.fields_doc exhume.cli.metrics_doc exhume.cli.api
check-generated: setup-dev
	@for module in $(GENERATORS); do $(BIN)/python -m $$module --check; done

check-imports: setup-dev
	$(BIN)/pytest -q tests/test_architecture.py

.PHONY: check-page
check-page:
	@if $(have-node); then $(MAKE) $(NODE_STAMP) && cd ui && $(NPM) run --silent types && $(NPM) run --silent lint; \
	  else echo "check-page: skipped, Node.js 20.19 or newer is not here"; fi

# --- how the page comes about ----------------------------------------------------------------

have-node = command -v $(NPM) >/dev/null && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null

# Not `npm ci`: it fails where a mirror lacks builds of a compiler for systems that are not ours.
$(NODE_STAMP): ui/package.json ui/package-lock.json
	@echo "setup: installing what the page is built with"
	@cd ui && $(NPM) install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(PAGE): $(NODE_STAMP) $(PAGE_FROM)
	@echo "setup: building the page"
	@cd ui && $(NPM) run --silent build -- --logLevel warn
	@touch $@

# --- how .venv comes about -------------------------------------------------------------------

$(RUN_STAMP): requirements.lock pyproject.toml apt-packages.txt $(NATIVE)
	@$(need-python)
	@$(call need-apt,run)
	@test -x $(BIN)/python || { echo "setup: making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "setup: installing what exhume runs with"
	@$(PIP) install --require-hashes --only-binary :all: -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src/exhume # pip does not for --editable, and Python may be told not to
	@touch $@

$(DEV_STAMP): requirements-dev.lock $(READERS)/package-lock.json $(RUN_STAMP)
	@$(call need-apt,test)
	@echo "setup: installing what the tests need"
	@$(PIP) install --require-hashes --only-binary :all: -r requirements-dev.lock
	@if command -v npm >/dev/null; then npm --prefix $(READERS) ci --silent; \
	  else echo "setup: no npm here: exports are not tried with the programs that read them"; fi
	@touch $@

define need-python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "setup: exhume needs Python 3.11 or newer; '$(PYTHON)' says: $$({ $(PYTHON) --version 2>&1 || true; } | head -n 1)" >&2; \
  echo "setup: install one and say which: make setup PYTHON=python3.12" >&2; exit 1; }
endef

# $(call need-apt,run): the packages so marked, installed when root, named when not. Where there is
# no dpkg the system's own names differ, so only the list is pointed at.
define need-apt
wanted=$$(sed -n 's/ *# *$(1):.*//p' apt-packages.txt); \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || wanted+=" $$(sed -n 's/ *# *venv:.*//p' apt-packages.txt)"; \
if ! command -v dpkg-query >/dev/null; then \
  echo "setup: not a Debian system; apt-packages.txt says what is needed ($(1))"; wanted=; fi; \
missing=; for package in $$wanted; do \
  dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null | grep -qx installed || missing+=" $$package"; done; \
if [ -z "$$missing" ]; then :; \
elif [ "$$(id -u)" = 0 ]; then \
  echo "setup: apt-get install$$missing"; export DEBIAN_FRONTEND=noninteractive; \
  $(no-services); \
  apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing >/dev/null; \
else \
  echo "setup: missing system packages; as root run:  apt-get install$$missing" >&2; exit 1; fi
endef

# Some packages are services. The tests start what they need by themselves, so none is started now.
define no-services
policy=/usr/sbin/policy-rc.d; if [ ! -e $$policy ]; then trap "rm -f $$policy" EXIT; \
  printf '#!/bin/sh\nexit 101\n' > $$policy; chmod 755 $$policy; fi
endef

# $(call compile-lock,FILE,OPTIONS): one file for every supported Python on x86_64 and aarch64, with
# hashes and without the address of the index it was asked of.
define compile-lock
$(UV) pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --fork-strategy fewest --output-file $(1) $(2) $(ARGS)
@! grep -nE '://|^ *--?(index|extra-index|find-links)|file:|^/' $(1)
endef
