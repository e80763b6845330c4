# The two commands are `make demo` and `make test`; both make .venv themselves. CONTRIBUTING.md explains the rest.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo hub test lint format types imports spelling bundle js-tests pytest coverage bench system clean

# The first of these that is new enough; name another with PYTHON=...
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check
FRONTEND := space_app/frontend
DIST := space_app/static/dist
SETTINGS := pyproject.toml constraints.txt
PYTEST_ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

# -- what a person runs --------------------------------------------------------------------------------------------

demo: $(VENV)/.demo ## train a small model for about a minute and watch it live on http://127.0.0.1:7860
	@$(PY) examples/demo.py

hub: $(VENV)/.test ## a local stand-in for the Hugging Face Hub on http://127.0.0.1:7870; it keeps its data in .hub
	@$(PY) -m tests.hub_server --port 7870 --data .hub

test: system $(VENV)/.test lint types imports spelling bundle js-tests pytest ## everything that must hold, as CI runs it

lint: $(VENV)/.test ## style: ruff's rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.test ## put the code into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.test
	$(BIN)/mypy

imports: $(VENV)/.test
	$(BIN)/lint-imports --no-logo

spelling: $(VENV)/.test
	git ls-files -z '*.py' '*.md' '*.js' '*.toml' ':!$(DIST)' | xargs -0 $(BIN)/codespell

# The committed bundle must be what its sources give: users need no Node.
bundle: $(FRONTEND)/node_modules/.package-lock.json
	@sum() { find $(DIST) -type f -print0 | sort -z | xargs -0 cksum; }; before=$$(sum); \
	npm --prefix $(FRONTEND) run --silent build; \
	if [ "$$before" != "$$(sum)" ]; then \
		echo "$(DIST) was not what its sources give. It is rebuilt: look at git diff and commit it." >&2; exit 1; fi

js-tests: $(FRONTEND)/node_modules/.package-lock.json
	npm --prefix $(FRONTEND) test --silent

pytest: system $(VENV)/.test ## the Python tests in random order, browser tests included; PYTEST_ARGS='-k name' picks
	$(PY) -m pytest $(PYTEST_ARGS)

coverage: $(VENV)/.test ## the Python tests once more, with the lines and branches that none of them reaches
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest -p no:randomly $(PYTEST_ARGS)
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report

bench: $(VENV)/.test ## measure what the README promises; prints measured, bar and verdict
	$(PY) -m benchmarks

clean: ## remove what was built and installed here; your logged data stay
	rm -rf $(VENV) $(FRONTEND)/node_modules build dist *.egg-info
	rm -rf .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- what the above need -------------------------------------------------------------------------------------------

$(PY):
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python" >&2; exit 1; fi
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Making .venv failed; on Debian: apt install python3-venv" >&2; exit 1; }
	@$(PIP) install --quiet --upgrade 'pip>=25.1'

$(VENV)/.demo: $(SETTINGS) | $(PY)
	@echo "Installing into $(VENV) (once, a minute or two) ..."
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[dashboard,examples]'
	@touch $@

$(VENV)/.test: $(SETTINGS) | $(PY)
	@echo "Installing into $(VENV) (once, some minutes) ..."
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@ $(VENV)/.demo

$(FRONTEND)/node_modules/.package-lock.json: $(FRONTEND)/package-lock.json
	@command -v npm >/dev/null || { echo "Node 20 with npm is needed to check the JavaScript bundle." >&2; exit 1; }
	npm --prefix $(FRONTEND) ci --silent --no-audit --no-fund
	@touch $@

# Chromium for the browser tests and ffmpeg for the media tests come from the system, never from a download of ours.
system:
	@missing=(); \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium); \
	command -v ffmpeg >/dev/null || missing+=(ffmpeg); \
	if [ $${#missing[@]} -eq 0 ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing $${missing[*]} with apt ..."; \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "$${missing[@]}" >/dev/null; \
	else \
		echo "The tests need $${missing[*]}; install with: sudo apt install $${missing[*]}  (macOS: brew install --cask chromium, brew install ffmpeg)" >&2; \
		exit 1; \
	fi
