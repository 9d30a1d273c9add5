PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEMO := runs/demo
# uv where there is one, else venv and pip: both end with the same packages.
UV := $(shell command -v uv 2>/dev/null)
# Tests start hundreds of processes: each would compile the package's modules again.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := --quiet --constraint constraints.txt --editable ".[test,docs]"

.PHONY: help demo test test-all fast-tests all-tests battery bench results zoo docs lint format clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY)  ## blue comes late: search the 120 orders with a small budget, a few minutes
ifeq ($(wildcard $(DEMO)/run.json),)
	$(BIN)/standing-orders search --preset search-contested --base.episodes 10000 --budget 26000 \
		--run $(DEMO)
else
	@echo "$(DEMO) is there already: going on with it, or showing what it found"
	$(BIN)/standing-orders search --resume --run $(DEMO)
endif
	@printf '\nnext, as they can be typed here:\n'
	@printf '  %s\n' \
		"$(BIN)/standing-orders play --policy $(DEMO)" \
		"$(BIN)/standing-orders evaluate --policy $(DEMO) --red b_line" \
		"$(BIN)/standing-orders train --run runs/any"

# mypy has one core and takes a minute: the tests begin meanwhile.
test: $(READY)  ## lint and the default tests, on all cores: what CI runs
	@$(MAKE) --no-print-directory --jobs 2 lint fast-tests

test-all: $(READY)  ## the slow proofs too
	@$(MAKE) --no-print-directory --jobs 2 lint all-tests

# A core that has run out of tests takes some of another's. More processes than cores are no
# quicker: each of them imports and loads kernels.
PYTEST := $(BIN)/python -m pytest -n logical --dist worksteal
fast-tests: $(READY)
	$(PYTEST) -m "not slow"

all-tests: $(READY)
	$(PYTEST)

BATTERY ?= short
battery: $(READY)  ## attacks on runs, settings, data and names; BATTERY=long takes an hour or two
	$(BIN)/python -m tests.battery $(BATTERY)

bench: $(READY)  ## speed on this machine, and how long a user waits
	$(BIN)/standing-orders bench sim
	$(BIN)/python benchmarks/cold_start.py start

results: $(READY)  ## every table of the pages again: hours; go on with it by calling it again
	$(BIN)/python benchmarks/all.py

zoo: $(READY)  ## train and measure the policies that come with the package; goes on if stopped
	$(BIN)/python benchmarks/zoo.py

docs: $(READY)  ## the documentation as a site in site/; a dead link fails
	$(BIN)/zensical build --strict

lint: $(READY)  ## ruff, mypy and hadolint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/hadolint Dockerfile

format: $(READY)  ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
ifeq ($(UV),)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install $(INSTALL)
else
	uv venv --quiet --allow-existing --python $(PYTHON) .venv
	uv pip install --python $(BIN)/python $(INSTALL)
endif
	@touch $(READY)

clean:  ## remove the environment and all caches; runs stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis site
