# Plain commands under short names. HACKING.md says more.

SECONDS_OF_FUZZ ?= 60
WAGGLE_CLAUDE_DIR ?= $(HOME)/.cache/waggle/claude

.PHONY: check build test race fuzz soak mutants generate demo vuln interop-latest rename dist ci full

# Before a commit.
check:
	@files=$$(gofmt -l .); [ -z "$$files" ] || { echo "gofmt would change: $$files"; exit 1; }
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	.ci/modules go vet ./...
	.ci/modules go tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...
	.ci/deadcode
	go test -run '^TestArch' ./internal/house
	@go test -count=1 -v -run '^TestArchSizes$$' ./internal/house | sed -n 's/^.*warning: /warning: /p'
	go test ./...
	.ci/modules go test ./...

build:
	CGO_ENABLED=0 go build -trimpath -o waggle ./cmd/waggle

test:
	go test ./...

race:
	CGO_ENABLED=1 go test -race -shuffle=on ./...

fuzz:
	.ci/fuzz $(SECONDS_OF_FUZZ)

# The large numbers, for an hour or more; writes out/measured.md. One package:
# make soak SOAK='-fuzz 0 -decode 0 ./mailbox'
# With KILLS only the kills of teams, so many processes: make soak KILLS=1500
soak:
	go -C internal/repo run ./soak $(if $(KILLS),-kills $(KILLS)) $(SOAK)

# Breaks forty places of six packages, one after the other, and says which no test
# finds; writes out/measured.md. Others: make mutants MUTANTS='-seed 7 -n 12 policy'
mutants:
	go -C internal/repo run ./mutants -write $(MUTANTS)

# Tables and diagrams in the documents, manual pages, schemas.
generate:
	go generate ./...

demo:
	@echo 'waggle is built first: with an empty cache that takes about a minute'
	go run ./cmd/waggle demo

# Needs the vulnerability database on the network.
vuln:
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

# The tests that run the real Claude Code client, against the newest version that npm's registry has,
# or one: make interop-latest VERSION=2.1.332
interop-latest:
	@version="$(VERSION)"; \
	[ -n "$$version" ] || version=$$(npm view @anthropic-ai/claude-code version) || exit 1; \
	[ -n "$$version" ] || { echo "npm knows no version: make interop-latest VERSION=2.1.332" >&2; exit 2; }; \
	WAGGLE_CLAUDE_DIR="$(WAGGLE_CLAUDE_DIR)" .ci/claude "$$version" || exit; \
	WAGGLE_CLAUDE_DIR="$(WAGGLE_CLAUDE_DIR)" WAGGLE_CLAUDE_VERSIONS="$$version" WAGGLE_TEST=full WAGGLE_REQUIRE=claude,tmux,git \
		go test -count=1 -timeout 60m $$(grep -rl --include='*_test.go' waggle/internal/test/claudetest . | xargs -n 1 dirname | sort -u)

# The files of a release, in dist/: for one system make dist SYSTEMS=linux/amd64
dist:
	go -C internal/repo run ./dist $(if $(VERSION),-version $(VERSION)) $(SYSTEMS)

# Another module path everywhere: make rename MODULE=example.com/you/waggle
rename:
	@[ -n "$(MODULE)" ] || { echo "which path? make rename MODULE=example.com/you/waggle" >&2; exit 2; }
	go -C internal/repo run ./rename "$(MODULE)"
	go generate ./...

ci:
	.ci/run

full:
	.ci/full
