# make run: start the app. make test: lint, types and daily tests. make test-all: all tests.
# Needs Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Always keep bytecode, because tests start many processes that use it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-all method newest few lint types unit every coverage browser bench bench-utility soak mutants samples docs clean

run: $(VENV)/run.stamp
	$(BIN)/streamlit run app.py

# Lint and types run in parallel with the first tests. There are four test processes, because two
# processors wait for browsers and servers a quarter of the time. A process that has finished its
# tests takes over waiting tests of another process.
PYTEST := -m pytest -n 4 --dist worksteal

test: $(VENV)/test.stamp browser
	$(MAKE) --no-print-directory --jobs=3 lint types unit

test-all: $(VENV)/test.stamp browser
	$(MAKE) --no-print-directory --jobs=3 lint types every
	$(MAKE) --no-print-directory newest

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy dpviz

# In a new clone each of the four processes would compile all tests: one process does it first.
unit: $(VENV)/test.stamp browser
	-@test -d tests/__pycache__ || $(BIN)/python -m pytest -qq --collect-only >/dev/null 2>&1
	$(BIN)/python $(PYTEST) -m "not exhaustive"

every: $(VENV)/test.stamp browser
	$(BIN)/python $(PYTEST)

# Tests of one method, in less than a minute: make method NAME=privthr.
method: $(VENV)/test.stamp
	@$(BIN)/python -m tests.method "$(NAME)" --quiet

# A newer Python has newer libraries. Run some tests in a separate environment, with the newest
# Python that pyproject.toml lists and this machine has.
newest:
	@for version in $$(sed -n 's/.* :: \(3\.[0-9]*\)",/\1/p' pyproject.toml | sort -rV); do \
	  $(PYTHON) -c "import sys; sys.exit(sys.version_info[:2] >= ($${version%.*}, $${version#*.}))" || break; \
	  for python in python$$version "$$HOME"/.pyenv/versions/$$version.*/bin/python3; do \
	    if $$python -c '' 2>/dev/null; then \
	      exec $(MAKE) --no-print-directory VENV=.venv-$$version PYTHON=$$python few; \
	    fi; \
	  done; \
	done; \
	echo "There is no newer Python here than $(PYTHON): make test has tried the newest."

few: $(VENV)/test.stamp
	$(BIN)/python $(PYTEST) -m "not exhaustive" --few 1 tests/test_doctests.py tests/data tests/privacy \
	  tests/commands/test_command_line.py tests/commands/test_reading.py

# Line coverage of the daily tests, with three cases of each test. All cases would cover no less.
coverage: $(VENV)/test.stamp browser
	rm -f .coverage .coverage.*
	@# Ignore failures: tracing may be too slow for a test, and killed processes leave broken files.
	-$(BIN)/coverage run $(PYTEST) -m "not exhaustive" --few 3
	-$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --show-missing --fail-under 95

bench: $(VENV)/test.stamp browser
	$(BIN)/python -m tests.benchmarks

# Measures the page "Measured" of the documentation; options are, for example,
# ARGS="--checkouts FOLDER --publish".
bench-utility: $(VENV)/test.stamp
	$(BIN)/python -m tests.benchmarks.bench_utility $(ARGS)

# Thirty sessions, uploads, heavy jobs and killed sessions on one server, in six minutes.
soak: $(VENV)/test.stamp
	$(BIN)/python -m tests.benchmarks soak

# A broken link is an error. The app also builds this site itself.
docs: $(VENV)/run.stamp
	$(BIN)/python -m dpviz.docs site

# Plants mistakes one by one in a copy; the tests have to detect each. Takes about half an hour.
mutants: $(VENV)/test.stamp
	$(BIN)/python -m tests.mutants

samples: $(VENV)/test.stamp
	$(BIN)/python sample_data/build.py

# A browser for the tests: Debian's headless Chromium, which needs a fifth less CPU time, if we may
# install it; otherwise the system's browser, or otherwise the browser of playwright.
browser: $(VENV)/test.stamp
	@command -v chromium-headless-shell >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	     && apt-get install -y -qq --no-install-recommends chromium-headless-shell \
	        fonts-dejavu-core; } \
	|| command -v chromium chromium-browser google-chrome >/dev/null 2>&1 \
	|| $(BIN)/python -m playwright install chromium

# An environment is created again if its Python is too old, or if its installation was interrupted,
# because pip accepts incomplete packages. Debian's Python lacks venv, so we install it if we may.
NEWER := import sys; sys.version_info < (3, 11) and sys.exit("dpviz needs Python 3.11 or newer, and \
$(PYTHON) is %d.%d: name another one, for example make PYTHON=python3.13." % sys.version_info[:2])
USABLE := [ ! -e $(VENV)/installing ] && $(BIN)/python -c '$(NEWER)'
ifneq ($(shell { $(USABLE); } >/dev/null 2>&1 && echo yes || echo no),yes)
.PHONY: $(VENV)/made.stamp
endif
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

$(VENV)/made.stamp:
	@command -v $(PYTHON) >/dev/null || { echo "dpviz needs Python 3.11 or newer, and there is no \
	$(PYTHON): install it, or name another one, for example make PYTHON=python3.13." >&2; exit 1; }
	@$(PYTHON) -c '$(NEWER)'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	  && apt-get install -y -qq python3-venv; } || { echo "$(PYTHON) has no module venv: install \
	it, for example by sudo apt-get install python3-venv." >&2; exit 1; }
	@{ $(USABLE) && $(PIP) show pip; } >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	touch $@

$(VENV)/run.stamp: $(VENV)/made.stamp requirements.txt
	touch $(VENV)/installing
	$(PIP) install -r requirements.txt
	rm $(VENV)/installing
	@# Compile and draw now, so that the first visit of a page is fast; compiled code and first
	@# pictures are stored on disk.
	-for method in twostage dprefine mcmc; do \
	  $(BIN)/python -m dpviz run gaussians --method $$method --json > /dev/null; done
	-for page in wavecluster kmeans; do $(BIN)/python -c "from streamlit.testing.v1 import AppTest; \
	  AppTest.from_file('app.py').switch_page('pages/$$page.py').run(timeout=60)" 2> /dev/null; done
	touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp tests/requirements.txt
	touch $(VENV)/installing
	$(PIP) install -r tests/requirements.txt
	@# mlcroissant brings these types, which mypy would check pandas by; nothing else needs them.
	$(PIP) uninstall --yes pandas-stubs
	rm $(VENV)/installing
	touch $@

clean:
	rm -rf $(VENV) .venv-3.* .pytest_cache .hypothesis .ruff_cache .mypy_cache
