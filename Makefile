PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
USER_STAMP := $(VENV)/.usable
BENCH_STAMP := $(VENV)/.benchable

.PHONY: demo test coverage lint dst bench clean

demo: $(USER_STAMP)  ## set up, then simulate a real scientific workflow under three policies
	$(BIN)/tradewind demo --out demo

test: $(STAMP)  ## set up, then run all tests
	$(BIN)/pytest -n 2

coverage: $(STAMP)  ## run all tests, and measure which lines they reach
	$(BIN)/pytest -n 2 --cov --cov-report=term

lint: $(STAMP)  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

dst: $(STAMP)  ## many more seeds of the deterministic simulation tests: make dst SEEDS=10000
	SEEDS=$(or $(SEEDS),10000) $(BIN)/pytest -q -n 2 tests/live/test_dst.py

bench: $(BENCH_STAMP)  ## measure speed beside peers
	$(BIN)/python -m benchmarks --json out/benchmarks.json

clean:
	rm -rf $(VENV) demo out .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(USER_STAMP): pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]'
	touch $@

$(STAMP): $(USER_STAMP) requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-dev.txt
	touch $@

$(BENCH_STAMP): $(STAMP) requirements-bench.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r requirements-bench.txt
	touch $@
