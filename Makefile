# Every target makes its own virtual environment; Python 3.11+ and the package registries are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check docs bench clean

demo: $(STAMP)  ## the main job: embedded Kubernetes, real Flink, a word count over a real text
	$(BIN)/kubeflink demo

test: $(STAMP)  ## all tests that this machine can run; what is left out is said
	scripts/test

check: $(STAMP)  ## style, types, layers
	scripts/check

docs: $(STAMP)  ## regenerate the pages that are made from declarations
	scripts/docs

bench: $(STAMP)  ## all benchmarks, as ratios within one run
	scripts/bench

clean:
	rm -rf $(VENV) build dist .coverage* .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml
	@echo "Installing kubeflink, Flink's jars and a JRE into $(VENV), once: some 500 MB, without a word"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev --editable '.[local,s3]'
	touch $(STAMP)
