# Every target does its own set-up: a .venv beside this file, built once from constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
JOBS ?= 2

.PHONY: help setup test lint pytest demo test-oracles clean

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else "SWAP needs Python 3.11 to 3.13; this is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@echo "setting up .venv (a minute or two, once)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(READY)  ## make .venv with the command swap in it
	@echo "ready: $(BIN)/swap --help"

test: lint pytest  ## lint, types, import law, tests

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

pytest: $(READY)
	@$(BIN)/python -m pytest -n $(JOBS)

demo: $(READY)  ## the mirror table and the exactness report
	@$(BIN)/swap mirror
	@$(BIN)/swap check nn

.venv-oracles/.ready: pyproject.toml constraints.txt
	@command -v gfortran >/dev/null || { echo "the oracle escnn compiles Fortran: install gfortran (Debian: apt-get install gfortran)"; exit 2; }
	@$(PYTHON) -m venv .venv-oracles
	@.venv-oracles/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,oracles]'
	@touch $@

test-oracles: .venv-oracles/.ready  ## compare with escnn (needs gfortran)
	@.venv-oracles/bin/python -m pytest -m oracle tests

clean:  ## remove what set-up and tests made
	rm -rf .venv .venv-oracles .pytest_cache .mypy_cache .ruff_cache .hypothesis
