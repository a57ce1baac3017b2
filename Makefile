# Everything that is done with this repository; `make help` lists it.
#
#   PYTHON=python3.13        the Python that makes the environment (3.11 to 3.14)
#   TORCH_INDEX=cpu          the build of torch: cpu, cu130 and so on, or a package index
#   DATA=folder              where `make multi30k` finds train.de, train.en and so on
#   PORT=8000                where `make serve` serves the site
#   LANGUAGE=zh_CN           one language of the site

PYTHON ?= python3
PORT ?= 8000
DATA ?=
TORCH_INDEX ?=
STAGES ?=
ARGS ?=
LANGUAGE ?=

VENV := .venv
READY := $(VENV)/.complete
RUN := $(VENV)/bin/python

# nbgrader starts `alembic` by its name, and Jupyter its own commands.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export TORCH_INDEX
# What people have set for other projects: with these, Python and Jupyter would not find the modules
# and the kernel of this one, or would take others in their place. Where Python may not keep its
# bytecode, each process compiles matplotlib and the rest again, which takes three to five seconds.
unexport JUPYTER_PATH PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PYTHONSAFEPATH PYTHONSTARTUP

.DEFAULT_GOAL := help
.PHONY: help setup book catalogs serve pdf test test-all test-class lab format notebooks notebooks-elsewhere exercises drawings phonemes lint \
        lock train bench multi30k one-core pronouns sequences broken-runs depth gpt tuning today capstone five-minutes grade grader-report mutation linkcheck clean

help: ## list the targets
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ":.*## " "/^[a-z0-9-]+:.*## / { printf \"  %-20s %s\\n\", \$$1, \$$2 }" $(MAKEFILE_LIST)

# The first line must be readable to every Python since 2.7; the second needs 3.11.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; v = sys.version_info[:2]; (3, 11) <= v <= (3, 14) or sys.exit( \
		'This is Python %d.%d (%s); the course needs Python 3.11 to 3.14.' % (v + (sys.executable,)) \
		+ '\nName another one, for example: make PYTHON=python3.13 setup')"
	@$(PYTHON) -m tools.environment --venv $(VENV)

setup: $(READY) ## make or update the environment in .venv from requirements.lock

book: $(READY) ## build the site into _build/html, executing the chapters that changed (LANGUAGE=en: English only)
	@$(RUN) -m tools.build_book $(if $(LANGUAGE),--language $(LANGUAGE)) $(ARGS)

catalogs: $(READY) ## bring the catalogs of translations up to date, or begin some (LANGUAGE=zh_CN ARGS=book/masking)
	@$(RUN) -m book.catalogs $(if $(LANGUAGE),--language $(LANGUAGE)) $(ARGS)

serve: book ## serve the built site on http://localhost:8000 (PORT=...)
	@$(RUN) -m http.server --directory _build/html --bind 127.0.0.1 $(PORT)

pdf: $(READY) ## print the book into _build/pdf, a PDF for each page and one of all (ARGS=book/x)
	@$(RUN) -m tools.build_book
	@$(RUN) -m tools.make_pdf $(ARGS)

test: $(READY) ## prove that the course works, or a part of it: make test STAGES="lint package"
	@$(RUN) -m tools.run_tests $(STAGES)

test-all: $(READY) ## prove everything: also every look, seed and bank, other processors, mutants, coverage
	@$(RUN) -m tools.run_tests --all $(STAGES)

test-class: $(READY) ## grade a class of 60, with Dask, PostgreSQL, JupyterHub too; it gets what is not here
	@$(RUN) -m tools.run_tests whole-class

lab: $(READY) ## copy new exercises into my-work/, open JupyterLab (LANGUAGE=zh_CN; ARGS=--update renews old ones)
	@$(RUN) -m tools.lab $(if $(LANGUAGE),--language $(LANGUAGE)) $(ARGS)

format: $(READY) ## format the code and normalize the notebooks
	@$(RUN) -m ruff check --fix --quiet || true
	@$(RUN) -m ruff format --quiet
	@$(RUN) -m tools.notebooks format

notebooks: $(READY) ## run chapters and solutions and keep their outputs (ARGS=book/x.ipynb)
	@$(RUN) -m tools.notebooks execute $(ARGS)

notebooks-elsewhere: $(READY) ## compare the notebooks' outputs as on two other processors (ARGS=book/x.ipynb)
	@$(RUN) -m tools.elsewhere $(ARGS)

exercises: $(READY) ## make exercises/ from solutions/
	@$(RUN) -m tools.exercises $(ARGS)

drawings: $(READY) ## make the drawings of the book and their colors again
	@$(RUN) -m tools.drawings $(ARGS)

phonemes: $(READY) ## record the phonemes again with espeak-ng and lame
	@$(RUN) -m tools.record_phonemes

lint: $(READY) ## ruff, mypy, and the form of the notebooks
	@$(RUN) -m tools.run_tests lint

lock: $(READY) ## make both requirements.lock from what they lock (ARGS=--upgrade for newer versions)
	@$(RUN) -m uv pip compile pyproject.toml --extra dev --output-file requirements.lock --quiet $(ARGS)
	@$(RUN) -m uv pip compile tests/joeynmt/requirements.in --no-deps \
		--output-file tests/joeynmt/requirements.lock --quiet $(ARGS)

train: $(READY) ## train the grapheme-to-phoneme model from scratch (ARGS=--help for choices)
	@$(RUN) -m transformer_ref train --config g2p $(ARGS)

bench: $(READY) ## measure speed against peers and write the results
	@$(RUN) -m benchmarks $(ARGS)

multi30k: $(READY) ## train German to English for an hour and write the scores (DATA=folder)
	@$(RUN) -m transformer_ref.experiments.capstone.multi30k $(if $(DATA),--data "$(DATA)") $(ARGS)

one-core: $(READY) ## time attention, an LSTM and the fused kernel on one core for half a minute
	@$(RUN) -m transformer_ref.experiments.attention

pronouns: $(READY) ## train the pronoun readers of the chapter on attention for a minute
	@$(RUN) -m transformer_ref.experiments.attention_pronouns

sequences: $(READY) ## train the copying models of the chapter on sequences for 20 minutes
	@$(RUN) -m transformer_ref.experiments.sequences

broken-runs: $(READY) ## train with five mistakes, without warm-up, and once under observation, for ten minutes
	@$(RUN) -m transformer_ref.experiments.training

depth: $(READY) ## train the readers of the chapter on depth for six minutes
	@$(RUN) -m transformer_ref.experiments.depth

gpt: $(READY) ## train the models of the chapter on GPT for half an hour
	@$(RUN) -m transformer_ref.experiments.gpt

tuning: $(READY) ## tune the speller of the chapter after pretraining, by rewards and otherwise, for twenty minutes
	@$(RUN) -m transformer_ref.experiments.tuning_runs

today: $(READY) ## train the models of the chapter on the Transformer today for twenty minutes
	@$(RUN) -m transformer_ref.experiments.where_next_runs

capstone: $(READY) ## train the baselines and ablations of the capstone for an hour (ARGS=--jobs=2)
	@$(RUN) -m transformer_ref.experiments.capstone.ablations $(ARGS)

five-minutes: $(READY) ## train a small speller for five minutes on one core, the number to beat
	@$(RUN) -m transformer_ref.experiments.capstone.five_minutes

grade: $(READY) ## grade a class in sandboxes, on all cores (ASSIGNMENT=attention ARGS=--help)
	@$(RUN) -m transformer_checks.classroom $(ASSIGNMENT) $(ARGS)

grader-report: $(READY) ## print how often the checks are wrong, task by task
	@$(RUN) -m benchmarks.grader_report $(ARGS)

mutation: $(READY) ## break the package in many small ways and see which the tests notice
	@$(RUN) -m tools.mutation $(ARGS)

linkcheck: $(READY) ## ask every external address in the book whether it is there
	@$(RUN) -m tools.build_book --linkcheck

clean: ## remove what was built, and keep .venv, my-work/ and runs/
	rm -rf _build .mypy_cache .pytest_cache .ruff_cache build *.egg-info
