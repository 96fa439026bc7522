# The two main commands are `make run` and `make test`. Most other targets run one part of them.
# The environment is made from two lock files, with checked hashes: requirements.lock has the packages for running,
# requirements-test.lock has the further packages for checks and tests. A changed lock file updates the environment.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
FOR_RUN := $(VENV)/installed-run-$(shell cksum requirements.lock | cut -d ' ' -f 1)
FOR_TESTS := $(VENV)/installed-tests-$(shell cat requirements.lock requirements-test.lock | cksum | cut -d ' ' -f 1)
# Runs before anything else with Python, because PYTHON may be another version or missing.
CHECK_PYTHON = $(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2> /dev/null || \
	{ echo "Python 3.11 is needed, and $(or $(PYTHON),no python3) is not it: install it, or name yours, e.g. PYTHON=/opt/python3.11/bin/python3.11" >&2; exit 1; }
RESOLVE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	--no-annotate --no-header
MAKE_ENVIRONMENT = $(PYTHON) -I config/run/environment.py $(VENV)
# The number of test processes. More than two cores, because many tests wait for real programs.
WORKERS ?= 6
# Settings of a production that could start, for `check --deploy`.
PRODUCTION := AGENTPODS_ENV=production AGENT_RUNTIME=kubernetes BASE_URL=https://console.example.com \
	POD_IMAGE=images.example.com/agentpods ENGINE_IMAGES=pi=images.example.com/pi \
	PLATFORM_DOMAIN=pods.example.net DATABASE_URL=postgresql://db.example.com/agentpods REDIS_URL=redis://redis.example.com/0 \
	BACKUP_STORE=s3:https://s3.example.com/agents BACKUP_URL=http://backups.example.com:8300 BACKUP_PORT=8300 \
	SECRET_KEY=check-only-check-only-check-only-check-only-check-only-1 SECRETS_KEYS=Y2hlY2stb25seS1jaGVjay1vbmx5LWNoZWNrLTEyMzQ=

.DEFAULT_GOAL := help
.PHONY: help run demo test checks setup lint format types imports migrations openapi sdk sdk-check deploy-check templates unit coverage \
	test-a2a test-mcp test-engines test-browser test-slow test-year test-mutants test-crash test-cluster test-cluster-engines test-images fuzz bench bench-peers images translations guide lock lock-engines lock-peers

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | column -t -s '|'

run: ## Start everything; PORT, AGENTPODS_HOME and the settings of docs/reference/settings.md come from the environment
	@test -e $(FOR_RUN) || { $(CHECK_PYTHON); $(PYTHON) -I config/run/ports.py; }
	@$(MAKE) --no-print-directory $(FOR_RUN)
	@exec $(BIN)/python -m config.run

demo: $(FOR_RUN) ## Use a running `make run` as a client, step by step (starts a service of its own if that one cannot be used)
	@ENGINE_CACHE="$${ENGINE_CACHE:-$${AGENTPODS_HOME:-$(CURDIR)/var}/engines}" \
		$(BIN)/python examples/demo.py --start "$(MAKE) --no-print-directory run"

test: setup ## All checks and a sixth of the test files, in random order; where CI is set all of them, with branch coverage
	@$(MAKE) --no-print-directory --jobs=2 checks $(if $(CI),coverage,unit)

checks: lint types imports migrations openapi sdk-check deploy-check guide ## All checks, without the tests

setup: $(FOR_TESTS) ## Only make the environment, with everything for checks and tests

$(FOR_RUN): | requirements.lock
	@$(CHECK_PYTHON); $(MAKE_ENVIRONMENT) requirements.lock --stamp $@ --needs 1000

$(FOR_TESTS): | $(FOR_RUN) requirements-test.lock
	@$(CHECK_PYTHON); $(MAKE_ENVIRONMENT) requirements-test.lock --stamp $@ --needs 1000

lint: setup ## ruff: rules and format; djlint: templates
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/djlint templates --check --quiet
	$(BIN)/djlint templates --lint --quiet

format: setup ## Let ruff and djlint fix and format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/djlint templates --reformat --quiet

types: setup ## mypy, strict; where CI is set nobody uses its cache again, and writing it takes a sixth of the time
	$(BIN)/mypy $(if $(CI),--cache-dir=/dev/null)

imports: setup ## Who may import whom
	$(BIN)/lint-imports --cache-dir $(VENV)/.import_linter_cache

# The first migration of an app runs only where no tables exist yet, so it is harmless and not checked.
migrations: setup ## Check that each model change has a migration, and that none harms a running database
	$(BIN)/python -m tests.with_stores $(BIN)/python manage.py makemigrations --check --dry-run
	DJANGO_SETTINGS_MODULE=tests.migration_settings $(BIN)/python -m tests.with_stores \
		$(BIN)/python manage.py lintmigrations --sql-analyser postgresql --no-cache --warnings-as-errors -q ok \
		--ignore-initial-migrations

openapi: setup ## Check that the committed openapi.yaml is what the code generates, without warnings
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file $(VENV)/openapi.yaml
	diff -u openapi.yaml $(VENV)/openapi.yaml

sdk: setup ## Write the generated parts of the Python SDK from openapi.yaml (sdk/README.md)
	$(BIN)/python -m sdk.generate

sdk-check: setup ## Check that the generated parts of the SDKs are what openapi.yaml makes, and never edited
	$(BIN)/python -m sdk.generate --check

deploy-check: setup ## Django's and our own checks on production settings
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING

unit: setup ## Only the tests; e.g. make unit ARGS="tests/accounts -x"
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

coverage: setup ## The tests with branch coverage; a failed test runs once more and is listed (CONTRIBUTING.md)
	PYTEST_PLUGINS=tests.coverage_plugin $(BIN)/python -m pytest -n $(WORKERS) --reruns 1 --max-suite-reruns 3 --rerun-show-tracebacks $(ARGS)

test-engines: setup ## Heavy: install and run real engines
	AT_LENGTH=1 $(BIN)/pytest -m engines $(ARGS)

test-browser: setup ## Heavy: every page in a real Chromium, installed from npm (or CHROMIUM, the path of your own)
	AT_LENGTH=1 $(BIN)/pytest -m browser $(ARGS)

test-slow: setup ## Heavy: tests that take minutes, and in full the tests of which `make test` runs a sample
	AT_LENGTH=1 $(BIN)/pytest -n $(WORKERS) -m "not engines and not browser and not year and not images and not mcp" $(ARGS)

test-year: setup ## Heavy: a year of random payments, lapses and outages against a model; SEED repeats one, also AGENTS, DAYS
	$(BIN)/pytest -m year -n auto $(ARGS)

test-mutants: setup ## Heavy: changes the main rules line by line and counts what no test notices; ONLY=term tries one module (CONTRIBUTING.md)
	@exec $(BIN)/python -m tests.mutants $(ONLY)

test-crash: setup ## Heavy: ten minutes of kills under load, then an audit; SEED repeats one, also SECONDS, AGENTS, ACCOUNTS
	@exec $(BIN)/python -m tests.crash

test-cluster: setup ## Heavy: conformance suite, API flow and escalations on the cluster that TEST_KUBECONFIG names (CONTRIBUTING.md)
	@test -n "$$TEST_KUBECONFIG" || { echo "TEST_KUBECONFIG: name a kubeconfig; CONTRIBUTING.md says what else"; exit 2; }
	$(BIN)/pytest --force-enable-socket tests/agents/runtimes/test_contract.py tests/agents/clusters/test_flow.py \
		tests/agents/clusters/test_drift.py tests/agents/clusters/test_escalation.py \
		tests/agents/clusters/test_neighbours.py $(ARGS)

test-a2a: setup ## Heavy: the conformance kit of A2A, from a checkout of its branch 1.0-dev that A2A_TCK names
	@exec $(BIN)/python -m tests.a2a_kit

test-mcp: setup ## Heavy: the conformance suite of MCP and its inspector, installed from npm, against a started service
	AT_LENGTH=1 $(BIN)/pytest -m mcp tests/mcp_server $(ARGS)

test-cluster-engines: setup ## Heavy: the conformance suite of engines from their images, on the same cluster (CONTRIBUTING.md)
	@test -n "$$TEST_KUBECONFIG" || { echo "TEST_KUBECONFIG: name a kubeconfig; CONTRIBUTING.md says what else"; exit 2; }
	CONFORMANCE_IN_CLUSTER=1 $(BIN)/pytest --force-enable-socket -m anywhere tests/agents/engines $(ARGS)

test-images: setup ## Heavy: the images of `make images` in containers; as root, with runc or crun
	$(BIN)/pytest -m images $(ARGS)

fuzz: setup ## Heavy: schemathesis against its own service with real pods; also SEED, SECONDS (900)
	@exec $(BIN)/python -m tests.fuzz

bench: setup ## Measure speed against baselines of the same run, ten minutes; e.g. make bench ONLY="G7 BURST"
	@$(BIN)/python -m benchmarks $(ONLY)

bench-peers: setup ## Measure ours beside JupyterHub, plain DRF and Celery, into docs/reference/performance.md; also needs npm
	@$(BIN)/python -m benchmarks.peers

images: ## The images of deploy/images as OCI archives in OUTPUT (var/images), as root; also TAG, BASE, VOLUMES, ONLY
	$(PYTHON) deploy/images/build.py $(or $(OUTPUT),var/images) $(if $(TAG),--tag $(TAG)) $(if $(BASE),--base $(BASE)) \
		$(addprefix --volume ,$(VOLUMES)) $(addprefix --only ,$(ONLY))

guide: setup ## The documentation as a site in var/guide, which /guide shows; a broken link is an error
	$(BIN)/python -m config.guide

translations: setup ## Collect the texts of the pages into templates/locale/*.po and compile them
	$(BIN)/python -m pages.translations

lock: setup ## Resolve pyproject.toml again into requirements.lock, and its group dev into requirements-test.lock
	$(RESOLVE) pyproject.toml -o requirements.lock
	$(RESOLVE) pyproject.toml -o requirements-test.lock --group dev --constraint requirements.lock \
		$$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements.lock)

lock-engines: setup ## Resolve the engines from PyPI again into their requirements.txt
	$(RESOLVE) agents/engines/pypi/hermes/requirements.in -o agents/engines/pypi/hermes/requirements.txt

lock-peers: setup ## Resolve the peers of `make bench-peers` again
	$(RESOLVE) benchmarks/peers/requirements.in -o benchmarks/peers/requirements.txt
	cd benchmarks/peers && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --silent
