# make run    install what is missing, then start everything on this machine
# make test   install what the tests need, then run every check and every test that a change usually breaks
# make test-long   the rest: everything on PostgreSQL, long properties, drills and faults

SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := .stamps
CONFORMANCE := .conformance
BUILD := .build
ARGS ?=

FAST := not processes and not qemu and not browser
SLOW := (processes or qemu or browser) and not long
LONG := long
# Architecture tests run with the checks.
FAST_TESTS := --ignore tests/architecture
SLOWEST := --durations=25
CODE := controlplane placement scheduling servers computeagent
export HYPOTHESIS_PROFILE ?= ci

.NOTPARALLEL:
.PHONY: run test check lint types architecture deploy-check test-fast test-differing test-slow test-slow-beside-checks test-postgres \
	test-long test-properties test-drills drill drill-control drill-faults agent-wheel bench lock clean \
	conformance-placement system-run system-test libvirt-binding dev-environment no-venv

run: system-run $(STAMPS)/base libvirt-binding ## start (ARGS="--port 9000 --hypervisors 1 ...")
	@exec $(PY) manage.py up $(ARGS)

test: dev-environment ## every check, and every test that a change usually breaks: within 12 minutes on 2 cores
	@$(MAKE) --no-print-directory lint test-fast test-differing test-slow-beside-checks

test-long: dev-environment ## the rest: everything on PostgreSQL, long properties, drills and faults
	@$(MAKE) --no-print-directory test-postgres test-properties test-drills

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

test-fast: ## units, properties, services, API and pages on SQLite, for the inner loop: within 4 minutes
	$(PY) -m pytest -n 2 -m "$(FAST)" $(FAST_TESTS) $(SLOWEST) $(ARGS)

test-differing: ## what may end otherwise on PostgreSQL, on a private cluster
	$(PY) tests/run_postgres.py -n 2 -m "$(FAST)" --differing tests/services tests/api $(SLOWEST) $(ARGS)

test-postgres: ## all services and API again on PostgreSQL
	$(PY) tests/run_postgres.py -n 2 -m "$(FAST)" tests/services tests/api $(SLOWEST) $(ARGS)

test-properties: dev-environment ## the property tests with many more examples than `make test` gives them
	HYPOTHESIS_PROFILE=$(or $(PROFILE),long) $(PY) -m pytest -n 2 tests/properties $(SLOWEST) $(ARGS)

test-slow: ## real processes, real guests, a real browser: two at a time, those that share one in turn
	$(PY) -m pytest -n 2 --dist loadgroup -m "$(SLOW)" $(SLOWEST) $(ARGS)

# Slow tests wait more than they compute: the checks run while they wait, and speak when they are done.
test-slow-beside-checks:
	@mkdir -p $(STAMPS); $(MAKE) --no-print-directory types architecture deploy-check > $(STAMPS)/checks.log 2>&1 & checks=$$!; \
	$(MAKE) --no-print-directory test-slow; slow=$$?; wait $$checks; checked=$$?; cat $(STAMPS)/checks.log; \
	test $$slow -eq 0 && test $$checked -eq 0

test-drills: ## every process killed at many points, and faults of what it stands on: short runs of both
	$(PY) -m pytest -m "$(LONG)" $(SLOWEST) $(ARGS)

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

agent-wheel: ## dist/: what a hypervisor installs, and the lock of what that needs
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(BUILD) requirements/build.lock
	$(BUILD)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist install/agent
	cp requirements/agent.lock dist/

bench: ## what can be measured
	@cat bench/README.md

lock: ## renew the pinned versions (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -U \
		-o requirements/base.lock
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -U -o requirements/dev.lock
	sed -n 's/^libvirt = \["\(.*\)"\]/\1/p' pyproject.toml | uv pip compile - --generate-hashes --no-header \
		--no-annotate -U -o requirements/libvirt.lock
	uv pip compile install/agent/pyproject.toml -c requirements/base.lock --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate -U -o requirements/agent.lock
	sed -n 's/^requires = \["\(.*\)"\]/\1/p' install/agent/pyproject.toml | uv pip compile - -c requirements/dev.lock \
		--universal --python-version 3.11 --generate-hashes --no-header --no-annotate -U -o requirements/build.lock
	uv pip compile requirements/conformance.in --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -U -o requirements/conformance.lock

clean: ## remove the environment and caches; the state directory stays
	rm -rf $(VENV) $(STAMPS) $(CONFORMANCE) $(BUILD) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache static-collected
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
