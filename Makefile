# make run    install what is missing, then start everything on this machine
# make test   install what the tests need, then run all checks and tests

SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := .stamps
CONFORMANCE := .conformance
ARGS ?=

FAST := not processes and not qemu and not browser
SLOW := processes or qemu or browser
CODE := controlplane placement scheduling servers computeagent
export HYPOTHESIS_PROFILE ?= ci

.NOTPARALLEL:
.PHONY: run test check lint types architecture deploy-check test-fast test-slow test-postgres test-properties drill drill-control drill-faults bench lock clean \
	conformance-placement system-run system-test libvirt-binding dev-environment no-venv

run: system-run $(STAMPS)/base libvirt-binding ## start (ARGS="--port 9000 --hypervisors 1 ...")
	@exec $(PY) manage.py up $(ARGS)

test: dev-environment ## every check and every test
	@$(MAKE) --no-print-directory check test-fast test-postgres test-slow

# Installed in this order: the virtual environment may need Debian's venv package, the binding its headers.
system-run system-test: system-%:
	@python=$$(install/python.sh) && install/system.sh $* "$$python"

$(STAMPS)/base: requirements/base.lock $(if $(wildcard $(PY)),,no-venv) | system-run
	@mkdir -p $(STAMPS)
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(VENV) $<
	@touch $@

$(STAMPS)/dev: requirements/dev.lock $(if $(wildcard $(PY)),,no-venv) | system-test
	@mkdir -p $(STAMPS)
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(VENV) $<
	@touch $@

no-venv: # somebody removed the environment: what was stamped is gone with it
	@rm -f $(STAMPS)/*

libvirt-binding: ; @if [ ! -e $(STAMPS)/libvirt ] || [ requirements/libvirt.lock -nt $(STAMPS)/libvirt ]; then \
	install/libvirt_binding.sh $(VENV) requirements/libvirt.lock $(STAMPS)/libvirt; fi

dev-environment: system-test $(STAMPS)/dev
	@$(MAKE) --no-print-directory libvirt-binding

check: lint types architecture deploy-check ## what needs no running program

lint:
	$(PY) -m ruff check
	$(PY) -m ruff format --check

types:
	$(PY) -m mypy $(CODE) manage.py

architecture:
	$(VENV)/bin/lint-imports
	DJANGO_SETTINGS_MODULE=controlplane.settings.test $(PY) manage.py makemigrations --check --dry-run
	$(PY) -m pytest -q $(wildcard tests/architecture) tests/units/dashboard/test_templates_compile.py

deploy-check: ## Django's own checks of the production settings, with values as an installation has them
	SECRET_KEY="$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))')" \
	DATABASE_URL=postgres://kilonova@localhost/kilonova ALLOWED_HOSTS=kilonova.example.org TRUSTED_PROXIES=1 \
	DJANGO_SETTINGS_MODULE=controlplane.settings.prod \
	$(PY) manage.py check --deploy --fail-level WARNING

test-fast: ## units, services, API and pages on SQLite
	$(PY) -m pytest -n 2 -m "$(FAST)" $(ARGS)

test-postgres: ## services and API again, on a private PostgreSQL cluster
	$(PY) tests/run_postgres.py -n 2 -m "$(FAST)" tests/services tests/api $(ARGS)

test-properties: dev-environment ## the property tests with fifty times as many examples as `make test` gives them
	HYPOTHESIS_PROFILE=thorough $(PY) -m pytest -n 2 tests/properties $(ARGS)

test-slow: ## real processes, real guests, a real browser: one after another
	$(PY) -m pytest -m "$(SLOW)" $(ARGS)

drill: dev-environment ## kill -9 of every process at every point, for half an hour (ARGS="--kills 300 --seed 7 ...")
	@$(PY) -m tests.drill $(ARGS)

drill-control: dev-environment ## the same without a check that it needs: this must find violations
	@$(PY) -m tests.drill --kills 8 --environments sqlite --real 2 --simulated 0 --without running-guest-check; \
		test $$? -eq 1

drill-faults: dev-environment ## database and Redis restarts, libvirt, disk, clock, partitions (ARGS="--only partition-refused ...")
	@$(PY) -m tests.drill.faults $(ARGS)

$(STAMPS)/conformance: requirements/conformance.lock $(if $(wildcard $(CONFORMANCE)/venv/bin/python),,no-venv-conformance)
	@mkdir -p $(STAMPS) $(CONFORMANCE)
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(CONFORMANCE)/venv $<
	@touch $@

no-venv-conformance:
	@rm -f $(STAMPS)/conformance

conformance-placement: dev-environment $(STAMPS)/conformance ## the published Placement suite (ARGS="--database sqlite --file traits")
	@$(PY) -m tests.conformance.placement $(ARGS)

bench: ## what can be measured
	@cat bench/README.md

lock: ## renew the pinned versions (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -U \
		-o requirements/base.lock
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -U -o requirements/dev.lock
	sed -n 's/^libvirt = \["\(.*\)"\]/\1/p' pyproject.toml | uv pip compile - --generate-hashes --no-header \
		--no-annotate -U -o requirements/libvirt.lock
	uv pip compile requirements/conformance.in --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -U -o requirements/conformance.lock

clean: ## remove the environment and caches; the state directory stays
	rm -rf $(VENV) $(STAMPS) $(CONFORMANCE) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache static-collected
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
