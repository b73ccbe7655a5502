# The commands of the project. `make help` lists them.
SHELL := /usr/bin/env bash -o pipefail
.DEFAULT_GOAL := help

TOOLS   := $(CURDIR)/.tools/bin
OUTPUT  := $(CURDIR)/_output
MODULE  := github.com/crossplane-contrib/provider-kcp
XPKG    := $(OUTPUT)/xpkg
CHART   := $(OUTPUT)/chart
RELEASE := $(OUTPUT)/release
ARCHES  := amd64 arm64
BENCH   ?= objects sync
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)

# Build, tests, demo and linter share these, and so what is compiled: with other flags all would be compiled again. Nothing of when, where and by
# whom it is built is in a program, nor what only debuggers read, which takes the compiler a tenth of its time. Another fifth is spared as
# Go's tools, and not what they build, collect garbage less often.
SHARED := -trimpath -buildvcs=false -gcflags=all=-dwarf=false "-toolexec=env GOGC=$(or $(GOGC),400)"
export GOFLAGS := $(strip $(subst $(SHARED),,$(shell go env GOFLAGS)) $(SHARED))
export CGO_ENABLED := 0

GOBUILD = go build -ldflags '-s -w -X $(MODULE)/internal/version.Version=$(VERSION)'
COMMA  := ,

# Servers and tools find each other by path, never by what happens to be installed.
export PATH := $(TOOLS):$(PATH)

# A cache of this clone's own: one shared by clones hands one the findings of another, under paths that no exclusion matches.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.tools/lint

.PHONY: help
help: ## List the commands.
	@grep -hE '^[a-z0-9.-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: build tools.demo ## Run the provider on real clusters and a real kcp, and show what it does. DEMO=keep leaves it up.
	@PROVIDER=$(OUTPUT)/bin/provider cluster/local/demo.sh

.PHONY: test
test: build tools ## Run the tests of all promises, on real servers: 13 minutes on two cores. PKG=./internal/diff RUN=TestOf runs some.
	$(if $(PKG)$(RUN),$(GOTEST) $(if $(RUN),-run='$(RUN)') $(or $(PKG),./...),@hack/test.sh)

AREAS := object sync applications package failover guides versions
AREA  ?= $(AREAS)

.PHONY: e2e
e2e: build tools.e2e ## Run all that takes longer, by area: make e2e AREA="object sync applications package failover guides versions"
	@hack/test.sh $(AREA)

# Until there are releases, the older build is one whose CRDs lack fields of ours and have no others that matter.
FORMER ?= 449d2b57

.PHONY: downgrade
downgrade: build tools ## Go back to an older build and forth again, on real servers: make downgrade FORMER=v0.1.0. It needs the history.
	@hack/tools/build.sh crossplane crossplane-cli function-auto-ready
	set -e; former=$$(mktemp -d); trap 'rm -rf "$$former"' EXIT; git archive $(FORMER) | tar -x -C "$$former"; \
		(cd "$$former" && $(GOBUILD) -o provider ./cmd/provider); FORMER=$$former $(GOTEST) -tags=history -run='^TestDowngrade$$' ./cluster/e2e/guides

# How tests are run that need a detector, or that measure: one package at a time. Without the symbols that only debuggers read a test is linked in
# less time. make lint vets.
GOTEST   := go test -count=1 -vet=off -ldflags=-s -parallel=4 -timeout=60m
LONG     := $(addprefix $(MODULE)/internal/controller/,object publishedresource)

# Packages whose goroutines share memory. Those of controllers mostly wait for servers: of them the tests run in which much happens at once.
SHARING  := $(addprefix ./internal/,fairqueue clusters slot informer reference publication objectsync kcp managedadapter identity)
CROWDED  := TestLifecycle TestSharedResource TestCrowdedReference TestChain TestCredentialsRotate TestOutageIsShownLate \
	TestDeadTargetDelaysNoOther TestSeveral TestSync

.PHONY: race
race: tools ## Run the tests of what shares memory with the race detector. It needs a C compiler.
	CGO_ENABLED=1 $(GOTEST) -race -p=1 $(SHARING)
	CGO_ENABLED=1 $(GOTEST) -race -p=1 -run='^($(subst $() ,|,$(strip $(CROWDED))))$$' $(LONG)

.PHONY: fuzz
fuzz: ## Fuzz all that reads tenants' input, each for FUZZTIME, 60s if it is not given.
	hack/fuzz.sh $(FUZZTIME)

.PHONY: soak
soak: build tools ## Run the provider with hostile workspaces, and with Objects that refer to each other as much as they can.
	$(GOTEST) -v -run='^TestHostileTenants$$' $(MODULE)/cluster/e2e/sync
	DENSE_OBJECTS=80 $(GOTEST) -v -run='^TestDenseReferences$$' $(MODULE)/internal/controller/object

.PHONY: generate
generate: tools.generate ## Write generated code, CustomResourceDefinitions and the reference of their fields.
	rm -f package/crds/*.yaml
	controller-gen object:headerFile=hack/boilerplate.go.txt paths=./apis/...
	angryjet generate-methodsets --header-file=hack/boilerplate.go.txt ./apis/...
	controller-gen crd:crdVersions=v1 paths=./apis/... output:crd:dir=package/crds
	go run ./hack/crds package/crds
	go run ./hack/crds -reference docs/reference/api package/crds

.PHONY: verify
verify: ## Check that generated files and module files are what the sources say.
	hack/verify.sh
	hack/test.sh --check

.PHONY: lint
lint: tools.lint ## Check the code with golangci-lint.
	golangci-lint run --timeout=20m ./...

.PHONY: build
build: ## Build the provider.
	@mkdir -p $(OUTPUT)/bin
	@echo 'Build the provider: a moment, or two minutes if nothing is compiled yet.'
	$(GOBUILD) -o $(OUTPUT)/bin/provider ./cmd/provider

.PHONY: xpkg
xpkg: $(ARCHES:%=xpkg.%) ## Build the package, with the image of the provider in it, for amd64 and arm64.

.PHONY: $(ARCHES:%=xpkg.%)
$(ARCHES:%=xpkg.%): xpkg.%: build tools.xpkg
	@mkdir -p $(XPKG)
	GOOS=linux GOARCH=$* $(GOBUILD) -o $(XPKG)/provider-$* ./cmd/provider
	go run ./cluster/images --program=$(XPKG)/provider-$* --arch=$* --version=$(VERSION) --out=$(XPKG)/image-$*.tar
	crank xpkg build --package-root=package --ignore='chart/*,chart/*/*' --examples-root=examples --embed-runtime-image-tarball=$(XPKG)/image-$*.tar \
		--package-file=$(XPKG)/provider-kcp-$*.xpkg

.PHONY: darwin $(ARCHES:%=darwin.%)
darwin: $(ARCHES:%=darwin.%) # The program for macOS, for its commands.

$(ARCHES:%=darwin.%): darwin.%:
	@mkdir -p $(XPKG)
	GOOS=darwin GOARCH=$* $(GOBUILD) -o $(XPKG)/provider-darwin-$* ./cmd/provider

.PHONY: xpkg.push
xpkg.push: xpkg ## Push the package to a registry: make xpkg.push REGISTRY=host/organisation VERSION=v1.2.3
	@[ -n '$(REGISTRY)' ] || { echo 'say where to: make xpkg.push REGISTRY=host/organisation VERSION=v1.2.3' >&2; exit 1; }
	crank xpkg push --package-files=$(subst $() ,$(COMMA),$(ARCHES:%=$(XPKG)/provider-kcp-%.xpkg)) $(REGISTRY)/provider-kcp:$(VERSION)

.PHONY: xpkg.capabilities
xpkg.capabilities: tools.xpkg ## Build the Configurations of examples/capabilities.
	@mkdir -p $(XPKG)
	for form in claims namespaced; do crank xpkg build --package-root=examples/capabilities/configurations/$$form \
		--examples-root=examples/capabilities/networking --package-file=$(XPKG)/capabilities-$$form.xpkg || exit 1; done

.PHONY: chart
chart: tools.chart ## Build the Helm chart, which installs the provider without Crossplane: make chart VERSION=v1.2.3
	@hack/chart.sh $(VERSION) $(CHART)

.PHONY: release
release: tools.xpkg tools.chart ## Build all that a release consists of, and push it: make release VERSION=v1.2.3 REGISTRY=host/organisation
	@hack/release.sh $(VERSION) $(RELEASE)
	$(if $(REGISTRY),REGISTRY=$(REGISTRY) hack/push.sh $(VERSION) $(RELEASE))

.PHONY: bench
bench: build tools ## Measure the provider against a plain client-go loop: BENCH="objects sync". BENCH=shards measures replicas that share the work, BENCH="-stages 5000x10x1 memory" memory.
	go run ./cluster/bench -provider $(OUTPUT)/bin/provider $(BENCH)

.PHONY: tools
tools: ## Build etcd, kube-apiserver, kube-controller-manager, kubectl, kcp, gotestsum and promtool, once.
	@hack/tools/build.sh etcd kubernetes kcp gotestsum promtool

.PHONY: tools.demo
tools.demo: # The demo issues certificates.
	@hack/tools/build.sh etcd kubernetes kcp cert-manager

.PHONY: tools.e2e
tools.e2e: # None of these is built for anything but e2e, xpkg and chart. Other versions of the servers are for area versions alone.
	@hack/tools/build.sh etcd kubernetes kcp gotestsum promtool provider-kubernetes kwok olm crossplane crossplane-cli crossplane-v1 function-auto-ready cert-manager helm \
		$(if $(filter versions,$(AREA)),$(notdir $(wildcard hack/tools/*-[0-9]*.[0-9]*)))

.PHONY: tools.xpkg
tools.xpkg:
	@hack/tools/build.sh crossplane-cli

.PHONY: tools.chart
tools.chart:
	@hack/tools/build.sh helm

.PHONY: tools.generate
tools.generate:
	@hack/tools/build.sh controller-gen angryjet

.PHONY: tools.lint
tools.lint:
	@hack/tools/build.sh golangci-lint
