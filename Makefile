PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test test-all bench lint clean

demo: $(READY)  ## play the scripted defenders, print their score cards
	@echo "One episode, its last step:"
	@$(BIN)/standing-orders play --plain --policy heuristic --seed 1 | tail -n 22
	@for policy in sleep random react_remove react_restore heuristic; do \
		$(BIN)/standing-orders evaluate --policy $$policy --episodes 1000 || exit 1; \
	done

test: $(READY) lint  ## lint and the default tests: what CI runs
	$(BIN)/python -m pytest -m "not slow"

test-all: $(READY) lint  ## the slow proofs too
	$(BIN)/python -m pytest

bench: $(READY)  ## every speed figure of the README
	$(BIN)/standing-orders bench sim
	$(BIN)/python benchmarks/cold_start.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[test]"
	@touch $(READY)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
