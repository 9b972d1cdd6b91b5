# The commands of this repository; `make help` lists them.

PYTHON ?= python3
LANGUAGE := en
LESSON ?=
VARIANT ?=
COURSE_DIR ?= dist/assignments/$(LANGUAGE)$(if $(VARIANT),-$(VARIANT))
# A CPU build of torch: make env TORCH_INDEX=<the address that pytorch.org's selector shows for CPU>
TORCH_INDEX ?=

BIN := .venv/bin
COLAB := .venv-colab
# nbgrader, with UTF-8 on Windows and without SQLAlchemy's warnings about nbgrader's own code
NBGRADER := PYTHONUTF8=1 PYTHONWARNINGS="ignore:Object of type" nbgrader
ROOT_FLAG := $(if $(filter 0,$(shell id -u)),--allow-root)
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: env lab test test-all notebooks stamp colab site slides assignment grade gpu help

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

env: .venv/.ready  ## create the environment (shared by all commands)

.venv/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; choose one with: make env PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Setting up .venv: about 2 GB, some minutes, little to see meanwhile"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(if $(TORCH_INDEX),$(BIN)/pip install --quiet --index-url $(TORCH_INDEX) torch -c constraints.txt)
	$(BIN)/pip install --quiet -c constraints.txt '.[authoring,site,slides,test]'
	@rm -rf build *.egg-info
	@touch $@

lab: env  ## open the course in JupyterLab (LANGUAGE=zh for Chinese)
	JUPYTER_CONFIG_PATH=authoring/lab $(BIN)/jupyter lab $(ROOT_FLAG) --ServerApp.root_dir=. \
		--LabApp.default_url=/lab/tree/notebooks/$(LANGUAGE)/00_start_here.ipynb

test: env  ## what every change must pass (English notebooks), under ten minutes
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -n 2 -m "not slow and not browser and not gpu"

test-all: test $(COLAB)/.ready  ## + Chinese notebooks, grading, browser, Colab's versions
	$(BIN)/pytest -m "(slow or browser) and not gpu"

$(COLAB)/.ready: tests/colab/requirements.txt
	$(PYTHON) -m venv $(COLAB)
	$(COLAB)/bin/pip install --quiet --upgrade pip
	$(COLAB)/bin/pip install --quiet -r tests/colab/requirements.txt
	@touch $@

notebooks: env  ## rebuild notebooks/ from lessons_src/ (LESSON=01_block_matrix for one, EXECUTE=all to run all)
	$(BIN)/python -m authoring build $(LESSON)

stamp: env  ## mark the translation of LESSON as read against its English
	@test -n "$(LESSON)" || { echo "name one: make stamp LESSON=01_block_matrix"; exit 1; }
	$(BIN)/python -m authoring stamp $(LESSON)

colab: env  ## write every lesson as a single file that runs alone, into dist/colab/
	$(BIN)/python -m authoring colab $(LESSON)

site: env  ## write the lessons as a website in both languages, into dist/site/
	$(BIN)/python -m authoring site

slides: env  ## a deck of each lesson, or of LESSON, into dist/slides/ (LANGUAGE=en for one language, PDF=1 to print them)
	$(BIN)/python -m authoring slides $(LESSON) $(if $(PDF),--pdf) $(if $(filter command line,$(origin LANGUAGE)),--language $(LANGUAGE))

assignment: env  ## nbgrader source and release of LESSON in LANGUAGE below COURSE_DIR (VARIANT=2027a: other numbers and order)
	@test -n "$(LESSON)" || { echo "name one: make assignment LESSON=04_online_softmax"; exit 1; }
	$(BIN)/python -m authoring assignment $(LESSON) --language $(LANGUAGE) --variant "$(VARIANT)" --into "$(COURSE_DIR)"

grade: env  ## grade what lies in COURSE_DIR/submitted/STUDENT/LESSON/, with the settings of make assignment: feedback, grades.csv
	@test -n "$(LESSON)" || { echo "name one: make grade LESSON=04_online_softmax"; exit 1; }
	@test -d "$(COURSE_DIR)/source/$(LESSON)" || { echo "$(LESSON) is not in $(COURSE_DIR): first make assignment, with the same LESSON, LANGUAGE, VARIANT and COURSE_DIR"; exit 1; }
	@ls "$(COURSE_DIR)"/submitted/*/$(LESSON)/* >/dev/null 2>&1 || { echo "nothing in $(COURSE_DIR)/submitted/STUDENT/$(LESSON)/ yet"; exit 1; }
	cd "$(COURSE_DIR)" && $(NBGRADER) autograde $(LESSON) || echo "Not all could be graded: see above"
	cd "$(COURSE_DIR)" && $(NBGRADER) generate_feedback $(LESSON) --force --log-level=ERROR
	cd "$(COURSE_DIR)" && $(NBGRADER) export --to grades.csv --log-level=ERROR
	@echo "Marks: $(COURSE_DIR)/grades.csv (written answers count 0 until somebody marks them in Formgrader)"
	@echo "Feedback: $(COURSE_DIR)/feedback/STUDENT/$(LESSON)/$(LESSON).html"

gpu: env  ## on a machine with an NVIDIA GPU: test the kernels, time them, count their bytes, into dist/gpu/
	$(BIN)/python tests/gpu/measure.py dist/gpu
	$(BIN)/python tests/gpu/loop_orders.py dist/gpu
