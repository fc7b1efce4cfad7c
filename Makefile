# make run    install what is missing, then start everything on this machine
# make test   install what the tests need, then run every check and every test that a change usually breaks
# make test-long   the rest: what `make test` leaves out on PostgreSQL, long properties, drills and faults

SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := .stamps
CONFORMANCE := .conformance
CLIENTS := .clients
BUILD := .build
ARGS ?=

# Files with tests of the lanes that wait; tests/conftest.py sees that none is missed. Reading all others takes 25 s of CPU.
files_marked = $(shell grep -rlE 'mark\.($(1))\b|_contract import' tests --include='test_*.py')
WAITING_TESTS = $(call files_marked,processes|qemu|browser|long)
# Files all of whose tests are long: the gate does not read them.
LONG_TESTS = $(shell grep -rlE '^pytestmark = .*mark\.long\b' tests --include='test_*.py')
PROCESSES_TESTS = $(filter-out $(LONG_TESTS),$(call files_marked,processes|browser))
QEMU_TESTS = $(filter-out $(LONG_TESTS),$(call files_marked,qemu))
FAST := not processes and not qemu and not browser and not long
PROCESSES := (processes or browser) and not qemu and not long
QEMU := qemu and not long
LONG := long
# Architecture tests run with the checks, properties with many examples in `make test-long`, which need schemathesis: a
# second of each process to load.
NO_SCHEMATHESIS := -p no:schemathesis
FAST_TESTS := --ignore tests/architecture --ignore tests/properties $(NO_SCHEMATHESIS)
# Where PostgreSQL may do otherwise than SQLite: `make test` runs these there too, `make test-long` all other services.
DIFFERING := tests/services/work tests/services/placement tests/services/scheduling/fleet tests/services/servers/conductor
SLOWEST := --durations=25
LANES = $(PY) tests/run_lanes.py
COLLECTED := --no-location --no-wrap --no-obsolete --ignore 'tests/*' --ignore '.*' --ignore 'static-collected/*'
CODE := controlplane placement scheduling servers computeagent
export HYPOTHESIS_PROFILE ?= ci
# Each process that a test starts would compile all modules anew: half a second of CPU each.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL:
.PHONY: run down test check lint types architecture deploy-check test-fast test-processes test-qemu \
	test-differing test-postgres \
	test-long test-properties test-doors fuzz-doors test-drills drill drill-control drill-faults agent-wheel bench lock clean \
	conformance-placement conformance-compute messages system-run system-test system-test-long libvirt-binding \
	dev-environment no-venv

run: system-run $(STAMPS)/base libvirt-binding ## start (ARGS="--port 9000 --hypervisors 1 ...")
	@exec $(PY) manage.py up $(ARGS)

down: ## stop what runs here, guests included (ARGS="--keep-guests")
	@exec $(PY) manage.py down $(ARGS)

# Side by side, since guests and processes are waited for, while the fast tests only compute.
test: dev-environment ## every check, and every test that a change usually breaks
	@$(LANES) types+test-differing+test-processes,lint+deploy-check+test-fast,test-qemu+architecture

test-long: system-test-long dev-environment $(STAMPS)/clients ## the rest: services on PostgreSQL, properties, drills and faults
	@$(LANES) test-drills test-postgres test-properties test-doors

# Installed in this order: the virtual environment may need Debian's venv package, the binding its headers.
system-run system-test system-test-long: system-%:
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
	$(PY) -m pytest -q $(NO_SCHEMATHESIS) $(wildcard tests/architecture) tests/units/dashboard/test_templates_compile.py

deploy-check: ## Django's own checks of the production settings, with values as an installation has them
	SECRET_KEY="$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))')" \
	DATABASE_URL=postgres://kilonova@localhost/kilonova ALLOWED_HOSTS=kilonova.example.org TRUSTED_PROXIES=1 \
	DJANGO_SETTINGS_MODULE=controlplane.settings.prod \
	$(PY) manage.py check --deploy --fail-level WARNING

test-fast: ## units, services, API and pages on SQLite, for the inner loop
	$(PY) -m pytest -n 2 -m "$(FAST)" $(SLOWEST) $(FAST_TESTS) $(ARGS)

test-differing: ## what PostgreSQL may do otherwise than SQLite, on a private cluster
	$(PY) tests/run_postgres.py -n 0 -m "$(FAST)" $(SLOWEST) $(NO_SCHEMATHESIS) $(DIFFERING) $(ARGS)

test-postgres: ## the other services on PostgreSQL, a private cluster for each process (ARGS="tests/api" for the API as well)
	$(PY) tests/run_postgres.py -n 2 -m "$(FAST)" $(SLOWEST) tests/services $(DIFFERING:%=--ignore=%) $(ARGS)

test-properties: dev-environment ## the property tests, with other examples each time
	HYPOTHESIS_PROFILE=$(or $(PROFILE),long) $(PY) -m pytest -n 2 tests/properties --ignore tests/properties/doors $(SLOWEST) $(ARGS)

# One process, for the installation that they ask is made once; the same requests each time.
test-doors: dev-environment ## few requests made up from the documents of the OpenStack doors and /api/
	KILONOVA_FUZZ_SEED=1 KILONOVA_FUZZ_EXAMPLES=2 $(PY) -m pytest -n 0 tests/properties/doors $(ARGS)

fuzz-doors: dev-environment ## more of them, and others: KILONOVA_FUZZ_EXAMPLES of each method, KILONOVA_FUZZ_SEED (ARGS="-k volume")
	$(PY) -m pytest -n 2 tests/properties/doors $(ARGS)

# The tests of a file run in one process, since they share servers. Guests are emulated, so one file of them at a time.
test-processes: ## real processes, a real browser
	$(PY) -m pytest -n 2 --dist loadfile -m "$(PROCESSES)" $(SLOWEST) $(NO_SCHEMATHESIS) $(PROCESSES_TESTS) $(ARGS)

test-qemu: ## real guests
	$(PY) -m pytest -n 0 -m "$(QEMU)" $(SLOWEST) $(NO_SCHEMATHESIS) $(QEMU_TESTS) $(ARGS)

test-drills: ## every process killed at many points, and faults of what it stands on: short runs of both; two files at a time
	KILONOVA_TEST_PATIENCE=$(or $(KILONOVA_TEST_PATIENCE),3) $(PY) -m pytest -n 2 --dist loadfile --timeout 2700 -m "$(LONG)" \
		$(SLOWEST) $(filter-out tests/properties/%,$(WAITING_TESTS)) $(ARGS)

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

# The `openstack` command and openstacksdk, for tests/e2e/clients.
$(STAMPS)/clients: requirements/clients.lock $(if $(wildcard $(CLIENTS)/venv/bin/python),,no-venv-clients)
	@mkdir -p $(STAMPS) $(CLIENTS)
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(CLIENTS)/venv $<
	@touch $@

no-venv-clients:
	@rm -f $(STAMPS)/clients

# Tempest, which tests/conformance/compute runs: it needs other versions of libraries than Kilonova and than its clients.
$(STAMPS)/tempest: requirements/tempest.lock $(if $(wildcard $(CONFORMANCE)/tempest/bin/python),,no-venv-tempest)
	@mkdir -p $(STAMPS) $(CONFORMANCE)
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(CONFORMANCE)/tempest $<
	@touch $@

no-venv-tempest:
	@rm -f $(STAMPS)/tempest

conformance-placement: dev-environment $(STAMPS)/conformance ## the published Placement suite (ARGS="--database sqlite --file traits")
	@$(PY) -m tests.conformance.placement $(ARGS)

conformance-compute: dev-environment $(STAMPS)/tempest ## Tempest's tests of the Compute API (ARGS="--real --door image --only REGEX")
	@$(PY) -m tests.conformance.compute $(ARGS)

agent-wheel: ## dist/: what a hypervisor installs, and the lock of what that needs
	@python=$$(install/python.sh) && install/venv.sh "$$python" $(BUILD) requirements/build.lock
	$(BUILD)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist install/agent
	cp requirements/agent.lock dist/

messages: ## collect the texts of pages into locale/, and compile what was translated (needs gettext)
	$(PY) manage.py makemessages --locale zh_Hans $(COLLECTED)
	$(PY) manage.py makemessages --locale zh_Hans --domain djangojs $(COLLECTED) --ignore 'static/vendor/*'
	cd locale/zh_Hans/LC_MESSAGES && sed -i '/^"POT-Creation-Date/d' *.po && \
	for name in django djangojs; do if [ -e $$name.po ]; then msgfmt --check -o $$name.mo $$name.po; fi; done

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
	uv pip compile requirements/tempest.in --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -U -o requirements/tempest.lock
	uv pip compile requirements/clients.in --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -U -o requirements/clients.lock

clean: ## remove the environment and caches; the state directory stays
	rm -rf $(VENV) $(STAMPS) $(CONFORMANCE) $(CLIENTS) $(BUILD) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache static-collected pictures
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
