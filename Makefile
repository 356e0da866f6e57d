# Everything a contributor and the CI run. `make` or `make help` lists it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Packages to test; for example `make test PKG=./core/...`.
PKG ?= ./...
# How long each fuzz target runs.
FUZZTIME ?= 10s
# How often each example is played with kills at random points: on SQLite, and
# on PostgreSQL.
REPEAT ?= 20
REPEAT_POSTGRES ?= 10

GOLANGCI_LINT_VERSION := v2.15.0
# Tools are kept outside the checkout, one folder a version, so that a clean
# checkout finds them built.
TOOLS ?= $(shell $(GO) env GOPATH)/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

# An independent model service, in JavaScript; with a Node of its own where
# there is none or an old one.
AIMOCK_VERSION := 1.43.0
AIMOCK := $(TOOLS)/aimock-$(AIMOCK_VERSION)

# Runs a command with a server that is started for it.
PGSERVER = $(GO) run ./internal/pgserver
# The packages whose tests run on either database.
STORE_PACKAGES = $$(grep -rl core/store/pgtest --include '*_test.go' . | sed 's|/[^/]*$$||' | sort -u)

# The race detector watches our code and that of every library but SQLite's own,
# which is C in the clothes of Go: watched, it takes six times as long. No package
# with generic code may be left out: the linker keeps one copy of it for all.
RACE = -race -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0'

# Two cores are busy with one step already, and the output stays in order.
.NOTPARALLEL:

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Building

.PHONY: build
build: ## Build bin/skein: static, stripped, reproducible
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o bin/skein ./cmd/skein

.PHONY: generate
generate: ## Write generated files anew
	$(GO) generate ./...

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code
	$(GOLANGCI_LINT) fmt

##@ Checking

.PHONY: test
test: ## Run the tests; they need nothing but Go
	$(GO) test $(PKG)

.PHONY: race
race: ## Run the tests with the race detector, on PostgreSQL the slow ones too (needs a C compiler)
	CGO_ENABLED=1 $(GO) test $(RACE) -timeout 20m $(PKG)
	$(PGSERVER) env CGO_ENABLED=1 $(GO) test $(RACE) -tags slow -skip CrashMatrix -timeout 20m $(STORE_PACKAGES)

.PHONY: slow
slow: ## Run the tests with the slow ones, without the crash matrix
	$(GO) test -tags slow -skip CrashMatrix -timeout 20m $(PKG)

.PHONY: postgres
postgres: ## Run the tests that use a store on PostgreSQL, with the slow ones (needs its server installed)
	$(PGSERVER) $(GO) test -tags slow -skip CrashMatrix -timeout 20m $(STORE_PACKAGES)

.PHONY: rehearse
rehearse: ## Run each unit of work twice, the first time without effect
	SKEIN_TEST_REHEARSE=1 $(GO) test -timeout 20m ./core/kernel ./core/delivery ./core/app

.PHONY: crash
crash: ## Kill the process at every named crash point and check what is left
	@dirs=$$(grep -rl 'func Test.*CrashMatrix' --include '*_test.go' . | sed 's|/[^/]*$$||' | sort -u) \
		|| { echo 'there is no crash matrix' >&2; exit 1; }; \
	$(GO) test -tags slow -run CrashMatrix -v -timeout 20m $$dirs; \
	$(PGSERVER) $(GO) test -tags slow -run CrashMatrix -timeout 20m $$dirs

.PHONY: peers
peers: $(AIMOCK)/package.json ## Test against servers of other projects (needs npm)
	SKEIN_AIMOCK=$(AIMOCK) $(GO) test -tags peers -run Peer -count=1 ./core/app

.PHONY: examples
examples: ## Play the examples on both databases with kills at random points, then the demo without a terminal
	$(GO) run ./cmd/skein test examples/ --race-kill --repeat $(REPEAT)
	$(PGSERVER) sh -c '$(GO) run ./cmd/skein test examples/ --store "$$SKEIN_TEST_POSTGRES" --race-kill --repeat $(REPEAT_POSTGRES)'
	$(GO) run ./cmd/skein demo --fresh --headless --script examples/demo.txtar

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@{ grep -rlE '^func Fuzz' --include '*_test.go' . || true; } | sed 's|/[^/]*$$||' | sort -u | while read -r dir; do \
		listed=$$($(GO) test -list '^Fuzz' "$$dir"); \
		for target in $$(grep '^Fuzz' <<<"$$listed"); do \
			echo "$$dir $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$dir"; \
		done; \
	done

.PHONY: bench
bench: ## Measure; the figures of docs/performance.md come from here
	$(GO) test -run '^$$' -bench . -benchmem $(PKG)

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters
	$(GOLANGCI_LINT) run $(PKG)

.PHONY: verify
verify: ## Check that generated files are fresh
	@state() { { git diff; git ls-files -z --others --exclude-standard | xargs -0 cat; } | git hash-object --stdin; }; \
	before=$$(state); $(GO) generate ./...; after=$$(state); \
	if [ "$$before" != "$$after" ]; then \
		git status --short; echo 'generated files were stale: commit what make generate wrote' >&2; exit 1; \
	fi

.PHONY: tidy-check
tidy-check: ## Check that go.mod and go.sum are tidy
	$(GO) mod tidy -diff
	$(GO) mod verify

##@ Together

.PHONY: ci
ci: lint race slow rehearse verify tidy-check build examples peers crash ## Everything the CI runs after the plain tests

$(AIMOCK)/package.json:
	npm install --silent --no-audit --no-fund --prefix $(@D).new @copilotkit/aimock@$(AIMOCK_VERSION)
	node -e 'const [a, b] = process.versions.node.split("."); process.exitCode = a > 20 || a == 20 && b >= 15 ? 0 : 1' \
		|| npm install --silent --no-audit --no-fund --prefix $(@D).new node@22
	rm -rf $(@D) && mv $(@D).new $(@D)

# The linter is built from source with its own dependencies, away from go.mod.
$(GOLANGCI_LINT):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
