PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test test-all bench lint clean

DEMO := runs/demo

demo: $(READY)  ## search the 120 orders with a small budget: a few minutes
	$(BIN)/standing-orders search --config src/standing_orders/presets/search.toml --budget 30000 \
		--base.episodes 20000 --run $(DEMO) $(if $(wildcard $(DEMO)/run.json),--resume)

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
