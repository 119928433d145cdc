# make run: start the app. make test: lint, types, tests for every day. make test-all: all tests.
# Needs Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is kept, whatever the outside says: tests start many processes, and each reads it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test test-all method newest few lint types unit every coverage browser bench bench-utility soak mutants samples docs clean

run: $(VENV)/run.stamp
	$(BIN)/streamlit run app.py

# Lint and types run beside the first tests. Three processes, since two processors wait for browsers
# and servers a quarter of the time. Of tests in a folder, the processes take parts, and who
# is done first takes over what the other has not begun.
PYTEST := -m pytest -n 3 --dist worksteal

test: $(VENV)/test.stamp browser
	$(MAKE) --no-print-directory --jobs=3 lint types unit

test-all: $(VENV)/test.stamp browser
	$(MAKE) --no-print-directory --jobs=3 lint types every

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp
	$(BIN)/mypy dpviz

unit: $(VENV)/test.stamp browser
	$(BIN)/python $(PYTEST) -m "not exhaustive"

every: $(VENV)/test.stamp browser
	$(BIN)/python $(PYTEST)

# Tests of one method, in less than a minute: make method NAME=privthr.
method: $(VENV)/test.stamp
	@$(BIN)/python -m tests.method "$(NAME)" --quiet

# A newer Python brings newer libraries: few tests on the newest one that pyproject.toml names, where
# it is on this machine, in an environment of its own.
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
	$(BIN)/python $(PYTEST) -m "not exhaustive" --few 1 dpviz tests/commands tests/data tests/privacy

# Lines of the package that the tests for every day run, three cases of each: all run no fewer.
coverage: $(VENV)/test.stamp browser
	rm -f .coverage .coverage.*
	@# Tracing may be too slow for a test, and a test that kills a process leaves a torn file.
	-$(BIN)/coverage run $(PYTEST) -m "not exhaustive" --few 3
	-$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --show-missing --fail-under 95

bench: $(VENV)/test.stamp browser
	$(BIN)/python -m tests.benchmarks

# ARGS="--checkouts FOLDER --publish" and others: the page "Measured" of the documentation.
bench-utility: $(VENV)/test.stamp
	$(BIN)/python -m tests.benchmarks.bench_utility $(ARGS)

# Thirty sessions, uploads, heavy jobs and killed sessions on one server, in six minutes.
soak: $(VENV)/test.stamp
	$(BIN)/python -m tests.benchmarks soak

# Strict: a link that leads nowhere ends it. The app builds the same site by itself.
docs: $(VENV)/run.stamp
	$(BIN)/python -m dpviz.docs site

# Plants mistakes in a copy, one by one: the tests have to find each. About half an hour.
mutants: $(VENV)/test.stamp
	$(BIN)/python -m tests.mutants

samples: $(VENV)/test.stamp
	$(BIN)/python sample_data/build.py

# A browser for the tests: Debian's without windows, which takes a fifth less of a processor, where
# we may install it; else the system's own, or else the one that playwright brings.
browser: $(VENV)/test.stamp
	@command -v chromium-headless-shell >/dev/null 2>&1 \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	     && apt-get install -y -qq --no-install-recommends chromium-headless-shell \
	        fonts-dejavu-core; } \
	|| command -v chromium chromium-browser google-chrome >/dev/null 2>&1 \
	|| $(BIN)/python -m playwright install chromium

# An environment of an older Python, or one whose installation was interrupted, is made anew: pip takes a
# half-copied package for a whole one. Debian ships Python without venv: it is installed where we may.
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
	@# Compiled code is kept on disk: better now than at the first look at the page.
	-for method in twostage dprefine mcmc; do \
	  $(BIN)/python -m dpviz run gaussians --method $$method --json > /dev/null; done
	touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp tests/requirements.txt
	touch $(VENV)/installing
	$(PIP) install -r tests/requirements.txt
	rm $(VENV)/installing
	touch $@

clean:
	rm -rf $(VENV) .venv-3.* .pytest_cache .hypothesis .ruff_cache .mypy_cache
