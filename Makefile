# Targets create .venv if necessary. A fresh machine needs only Python 3.11+ and make.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test fuzz check docs wheel workflows lock bench paper clean

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "akkm needs Python 3.11 or newer, this is " + sys.version)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[cli,dask,files,images,metis,numba,plot,progress]" --group dev
	touch $@

.venv/fuzz: .venv/ready
	$(BIN)/python -m pip install --quiet --group fuzz
	touch $@

.venv/bench: .venv/ready
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

.venv/docs: .venv/ready
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

.venv/release: .venv/ready
	$(BIN)/python -m pip install --quiet --group release
	touch $@

demo: .venv/ready  ## cluster wines, digits (with layers), a disc in a ring, and a table of customers
	$(BIN)/python examples/write_tables.py
	$(BIN)/akkm plan akkm-demo-wines.csv --label cultivar
	$(BIN)/akkm cluster akkm-demo-wines.csv --label cultivar --report akkm-demo-wines.html
	$(BIN)/akkm cluster akkm-demo-digits.csv --label digit --scale none --layers --method diffusion --labels akkm-demo-layers.csv
	$(BIN)/akkm demo

test: .venv/ready  ## run the whole test suite; each worker uses one core
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal

FUZZ_START ?= 0
fuzz: .venv/fuzz  ## try random command lines, random fits and damaged files; takes two hours
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.command_lines --start $(FUZZ_START) --count 1000
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.fits --start $(FUZZ_START) --count 20000
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.kills --count 100
	for format in csv npy libsvm arrow model; do \
		OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.readers $$format --seconds 600 || exit 1; done

check: .venv/ready  ## check style, format, types, docstrings and imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet --durations 0 --durations-min 1 tests/test_docstrings.py tests/test_project.py

docs: .venv/docs  ## build the site in docs/_build/html: guide, examples and API reference
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md docs/api/*.md examples src/akkm
	MPLBACKEND=Agg OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --quiet docs docs/_build/html
	$(BIN)/python .ci/check_site.py docs/_build/html
	$(BIN)/python .ci/check_search.py docs/_build/html

wheel: .venv/release  ## build sdist and wheel, and test the wheel with old and new dependencies
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python .ci/test_wheel.py dist/*.whl

workflows: .venv/release  ## check the workflow files and CITATION.cff
	$(BIN)/zizmor --offline --no-progress .github/workflows
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

lock: .venv/release  ## write dev.lock: the versions with which the project is developed
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --all-extras --group dev --group docs \
		--group release --no-annotate --no-emit-index-url --custom-compile-command "make lock" --output-file dev.lock

bench: .venv/bench  ## measure the numbers that the docs quote; set AKKM_DATA for real data
	$(BIN)/python -m experiments bench

paper: .venv/ready  ## repeat the paper's experiments on tiny generated data; takes a minute
	$(BIN)/python -m experiments paper run --all --tiny --folder paper-results/tiny
	$(BIN)/python -m experiments paper report --tiny --folder paper-results/tiny

clean:
	rm -rf .venv build dist docs/_build docs/examples docs/api/generated .mypy_cache .ruff_cache .pytest_cache
