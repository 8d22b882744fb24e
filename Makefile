# One word a job, the same words that CI uses. `make` alone lists them.
# Every recipe runs from this folder with relative paths, so the folder's own path may hold spaces.

PY := .venv/bin/python

.PHONY: help setup demo test check check-irt perf clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r target text; do \
		printf '%-16s %s\n' "$$target" "$$text"; done

setup: ## make .venv with the pinned packages (finds a Python 3.12+; PYTHON=... chooses one)
	@sh tools/setup.sh

demo: setup ## measure a simulated benchmark, show the released tables, fill a simulated benchmark's gap
	@$(PY) scripts/demo.py
	@bash run_experiment.sh demo

test: setup ## run all tests
	@$(PY) -m pytest -n 2 --dist loadfile

check: setup ## formatting, lint, types, and README against the commands
	@$(PY) -m ruff format --check
	@$(PY) -m ruff check
	@$(PY) -m mypy
	@$(PY) -m pytest tests/test_repository.py

check-irt: ## prove in a fresh environment that requirements_irt.txt is enough to fit
	@sh tools/check_irt.sh

perf: setup ## run the speed, memory and accuracy comparisons (MATRICES=DIR: also against the joint model, on real matrices)
	$(PY) perf/prepare.py
	$(PY) perf/diagnose.py
	$(PY) perf/fit.py
	$(PY) perf/calibration.py
	$(PY) perf/client.py
	$(PY) perf/graders.py
	$(PY) perf/new_items.py
	$(PY) perf/benchfill.py
	$(PY) perf/mirt.py $(if $(MATRICES),--matrices "$(MATRICES)")
	@if [ -n "$(MATRICES)" ]; then set -x; $(PY) perf/agreement.py --matrices "$(MATRICES)"; \
	else echo "left out perf/agreement.py, which needs response matrices: make perf MATRICES=DIR"; fi

clean: ## remove .venv, demo_output and the caches
	rm -rf .venv demo_output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
