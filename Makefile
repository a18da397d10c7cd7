# Everything a fresh machine needs: Python 3.11 or later, and make. `make` lists the targets.

VENV := .venv
READY := $(VENV)/.ready
SDKS := $(VENV)/.sdks
PINS := $(VENV)/pins/bin/python -m pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The interpreter that the environment is made from: make setup PYTHON=/opt/python3.12/bin/python3
PYTHON ?=
CANDIDATES := python3.13 python3.12 python3.11 python3
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help setup demo test check suites bench bench-peers pins clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## Make .venv with the pinned tools and this project in it

demo: $(READY)  ## Show the crash-window bug, its story and its fix, with real kills
	@$(VENV)/bin/crashwindow demo

test: $(SDKS)  ## Run the tests on all cores, with branch coverage
	$(VENV)/bin/python -m pytest --numprocesses auto --cov --cov-fail-under=95

check: $(SDKS)  ## Lint, check the format, check the types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

suites: $(SDKS)  ## Run the tests of other people's SDKs against the fakes
	$(VENV)/bin/python tests/suites/run.py

bench: $(SDKS)  ## Measure, and print the figures
	$(VENV)/bin/python tests/benchmarks/bench.py

bench-peers: $(READY)  ## Run the peers beside crashwindow, on one agent
	$(VENV)/bin/python tests/benchmarks/peers/side_by_side.py

pins: $(READY)  ## Write constraints.txt and constraints-sdks.txt anew, with the latest versions of everything
	$(VENV)/bin/python -m venv --clear $(VENV)/pins
	$(PINS) install --quiet --upgrade 'pip>=25.1'
	$(PINS) install --quiet --group dev --group sdks --editable '.[sdks]'
	$(PINS) freeze --exclude-editable > $(VENV)/pins.txt
	$(PINS) install --quiet --dry-run --ignore-installed --report $(VENV)/pins.json \
		--constraint $(VENV)/pins.txt --group dev --editable .
	$(VENV)/bin/python tests/pins.py $(VENV)/pins.json $(VENV)/pins.txt

clean:  ## Remove the environment and what the tools leave behind
	rm -rf $(VENV) .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist

# Made again only when what it is made of has changed. Without build isolation, the build backend is pinned too.
$(READY): pyproject.toml constraints.txt
	@python='$(PYTHON)'; \
	for name in $(if $(PYTHON),,$(CANDIDATES)); do \
		if "$$name" -c '$(USABLE)' >/dev/null 2>&1; then python="$$name"; break; fi; \
	done; \
	if [ -z "$$python" ] || ! "$$python" -c '$(USABLE)' >/dev/null 2>&1; then \
		echo "crashwindow needs Python 3.11 or later, with venv and ensurepip, and found none; tried: $${python:-$(CANDIDATES)}." >&2; \
		echo "Install one, or name it: make setup PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	$(VENV)/bin/python -c '$(USABLE)' 2>/dev/null || "$$python" -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --requirement constraints.txt
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# The SDKs of real providers, which the tests drive against the fakes.
$(SDKS): $(READY) constraints-sdks.txt
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --requirement constraints-sdks.txt
	@touch $@
