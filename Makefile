# Every target does its own set-up: a .venv beside this file, built once from constraints.lock.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check
JOBS ?= 2
TEACHER := models/teacher.safetensors
SEES := models/swap.safetensors
RUN := $(or $(RUN),out/train/$(shell date +%Y%m%d-%H%M%S))
# Tests start many processes that load torch; none should compile it again.
export PYTHONDONTWRITEBYTECODE :=
SOAK ?= --kills 200 --flips 1000 --options 500 --minutes 30 --clicks 30

.PHONY: help setup test lint pytest soak soak-deploy fuzz-gate demo train test-oracles test-rliable bench-oracles lock clean

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(READY): pyproject.toml constraints.lock
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info < (3, 14) else "SWAP needs Python 3.11 to 3.13; this is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	@echo "setting up .venv (a minute or two, once)"
	@$(PYTHON) -m venv .venv
	@$(PIP) --no-deps --require-hashes -r constraints.lock
	@$(PIP) --no-build-isolation -c constraints.txt -e '.[dev]'
	@touch $@

setup: $(READY)  ## make .venv with the command swap in it
	@echo "ready: $(BIN)/swap --help"

test: lint pytest  ## lint, types, import law, tests

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

# A worker keeps to files that follow each other, so that what their tests share is made once.
pytest: $(READY)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not oracle"

# Python warns of forks beside threads; the forks have nothing for them to do.
soak: $(READY)  ## kills, byte flips, random options, memory; sizes by SOAK="--kills 200 --flips 1000 ..."
	@PYTHONPATH=tests $(BIN)/python -W ignore::DeprecationWarning -m soak $(SOAK)

soak-deploy: $(READY)  ## a controller in the other simulator with faults thrown in; BUNDLE=swap.bundle MINUTES=60
	@cd tests && PYTHONPATH=. ../$(BIN)/python deploy_soak.py $(abspath $(or $(BUNDLE),swap.bundle)) $(or $(MINUTES),60)

fuzz-gate: $(READY)  ## random and adversarial cases for the safety gate; CASES=1000000
	@cd tests && PYTHONPATH=. ../$(BIN)/python gate_cases.py $(or $(CASES),1000000)

demo: $(READY)  ## the mirror table, the exactness report, and both robots measured or filmed
	@$(BIN)/swap mirror
	@$(BIN)/swap check nn
	@$(BIN)/swap eval $(TEACHER) --family box gap --points 10 --trials 20 --device cpu
	@mkdir -p out
	@$(BIN)/swap play $(TEACHER) --family box --size 1.5 --out out/demo-box.mp4
	@$(BIN)/swap play $(TEACHER) --family gap --size 2.1 --out out/demo-gap.mp4
	@$(BIN)/swap play $(SEES) --family box --size 1.2 --imagine --out out/demo-sees.mp4

train: $(READY)  ## train what suits this machine (as long as it needs, or MINUTES=m), measure it and film it
	@$(BIN)/swap train --preset auto $(if $(MINUTES),--minutes $(MINUTES)) --out $(RUN)
	@$(BIN)/swap eval $(RUN) --points 6 --trials 50
	@$(BIN)/swap play $(RUN) --family box --size 0.35 --out $(RUN)/box.mp4
	@echo "what it learned is in the table above; the film is $(RUN)/box.mp4; more: $(BIN)/swap train --resume $(RUN) --minutes 10"

# escnn's dependencies hold numpy below 2, so it gets an environment of its own, without the simulator.
ORACLES := PYTHONPATH=src .venv-oracles/bin/python
.venv-oracles/.ready: constraints-oracles.txt
	@command -v gfortran >/dev/null || { echo "escnn compiles Fortran: install gfortran first (Debian: apt-get install gfortran)"; exit 2; }
	@$(PYTHON) -m venv .venv-oracles
	@.venv-oracles/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-oracles.txt torch escnn pytest hypothesis rich tyro
	@touch $@

test-oracles: .venv-oracles/.ready  ## compare the layers with escnn (needs gfortran)
	@$(ORACLES) -m pytest -m oracle tests/nn

# rliable gets an environment of its own, too; the rest of the project is not needed for it.
.venv-rliable/.ready: constraints-rliable.txt
	@$(PYTHON) -m venv .venv-rliable
	@.venv-rliable/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-rliable.txt rliable pytest
	@touch $@

test-rliable: .venv-rliable/.ready  ## compare the statistics with rliable
	@PYTHONPATH=src .venv-rliable/bin/python -m pytest --noconftest -m oracle tests/evaluate/test_statistics.py

bench-oracles: .venv-oracles/.ready  ## time the layers against dense ones and escnn (needs gfortran)
	@$(ORACLES) -m swap bench nn

lock:  ## write constraints.lock: the pins of constraints.txt with their hashes (needs the network)
	@$(PYTHON) tools/lock.py

clean:  ## remove what set-up and tests made
	rm -rf .venv .venv-oracles .venv-rliable .pytest_cache .mypy_cache .ruff_cache .hypothesis
