# lull: build, test, show, install. `make help` lists the targets.
#
#   PREFIX   where `make install` puts things (/usr/local)
#   DESTDIR  a directory to install into instead of / (for packagers and tests)
#   ARGS     further arguments of `make demo`, `make bench` and `make conformance`
#   LULL     the program to show and to install (target/release/lull)

SHELL   := /bin/bash
PREFIX  ?= /usr/local
DESTDIR ?=
ARGS    ?=
CARGO   ?= cargo

# rustup puts cargo where only a login shell finds it.
export PATH := $(PATH):$(HOME)/.cargo/bin

TARGET_DIR  := $(or $(CARGO_TARGET_DIR),target)
LULL        ?= $(TARGET_DIR)/release/lull
BINDIR      := $(DESTDIR)$(PREFIX)/bin
SHARE       := $(DESTDIR)$(PREFIX)/share
MANDIR      := $(SHARE)/man/man1
DOCDIR      := $(SHARE)/doc/lull
BASH_DIR    := $(SHARE)/bash-completion/completions
ZSH_DIR     := $(SHARE)/zsh/site-functions
FISH_DIR    := $(SHARE)/fish/vendor_completions.d
DOCS        := README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE

# What `make coverage` leaves out: tests, and other crates.
NOT_ENGINE := tests\.rs|/tests/|crates/lull-(core|linux|bpf|api)/

# In CI the lock file is what was tested; elsewhere a new dependency may still be on its way into it.
LOCKED := $(if $(CI),--locked)

.PHONY: build demo test test-vm test-condor conformance coverage deb bench figures install uninstall fmt clean help deps

build: ## Compile target/release/lull (the default)
	$(CARGO) build --release $(LOCKED) --bin lull

deps: ## Install the packages that are missing (clang, libelf, zlib, ...)
	scripts/deps.sh build

demo: ## Install what is missing, build, and show a foreground beside background work (3 minutes)
	scripts/deps.sh build
	$(MAKE) --no-print-directory build
	$(LULL) demo $(ARGS)

test: ## All checks and tests; each failure is reported, not only the first
	scripts/test.sh

conformance: build ## Run 82 programs natively and under lull, alone and held, and compare their results (root, 10 minutes)
	LULL=$(LULL) scripts/conformance.sh $(ARGS)

test-vm: ## Debian 13 in a virtual machine: lull as everyone runs it: vm/test.sh $(ARGS)
	scripts/deps.sh vm
	vm/test.sh $(ARGS)

test-condor: build ## A real HTCondor pool on this machine, its guests under lull, and what may fail: condor/test.sh $(ARGS)
	scripts/deps.sh vm
	condor/test.sh $(ARGS)

coverage: ## Which lines of lull-engine its tests reach without root (a table; the pages are in target/llvm-cov)
	scripts/deps.sh coverage
	$(CARGO) llvm-cov $(LOCKED) -p lull-engine --lib --html --ignore-filename-regex '$(NOT_ENGINE)' -- --skip root_
	$(CARGO) llvm-cov report -p lull-engine --ignore-filename-regex '$(NOT_ENGINE)'

deb: build ## A Debian package in target/debian, with man pages and completions
	scripts/deps.sh deb
	rm -rf target/package "$(TARGET_DIR)"/debian/lull_*.deb
	"$(LULL)" generate man target/package/man
	"$(LULL)" generate completions target/package/completions
	$(CARGO) deb --quiet $(LOCKED) --package lull --no-build --strip

bench: build ## Measure the contenders on this disk: lull bench disk $(ARGS)
	$(LULL) bench disk $(ARGS)

figures: build ## Simulate the paper's figures into docs/results: lull sim all $(ARGS)
	$(LULL) sim all --out docs/results $(ARGS)

# As with any other package: `make && sudo make install`. Root needs no cargo for the second half.
install: $(if $(wildcard $(LULL)),,build) ## Install program, man pages, completions (PREFIX, DESTDIR)
	@set -e; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	"$(LULL)" generate man "$$made/man"; \
	"$(LULL)" generate completions "$$made/completions"; \
	install -Dm755 "$(LULL)" "$(BINDIR)/lull"; \
	install -d "$(MANDIR)"; \
	install -m644 "$$made"/man/*.1 "$(MANDIR)"; \
	install -Dm644 "$$made/completions/lull.bash" "$(BASH_DIR)/lull"; \
	install -Dm644 "$$made/completions/_lull" "$(ZSH_DIR)/_lull"; \
	install -Dm644 "$$made/completions/lull.fish" "$(FISH_DIR)/lull.fish"; \
	install -d "$(DOCDIR)"; \
	install -m644 $(DOCS) "$(DOCDIR)"; \
	install -m644 crates/lull-bpf/LICENSE "$(DOCDIR)/LICENSE-BPF"; \
	install -m644 crates/lull-bpf/LICENSE-GPL-2.0 "$(DOCDIR)/LICENSE-GPL-2.0"; \
	echo "installed into $(DESTDIR)$(PREFIX)"

uninstall: ## Remove what install put there (same PREFIX, DESTDIR)
	rm -f "$(BINDIR)/lull" "$(MANDIR)"/lull.1 "$(MANDIR)"/lull-*.1
	rm -f "$(BASH_DIR)/lull" "$(ZSH_DIR)/_lull" "$(FISH_DIR)/lull.fish"
	rm -rf "$(DOCDIR)"

fmt: ## Format the Rust and the C
	$(CARGO) fmt --all
	@shopt -s nullglob; files=(crates/lull-bpf/src/bpf/*.[ch]); \
	if (($${#files[@]})); then "$$(scripts/deps.sh --clang-format)" -i "$${files[@]}"; fi

clean: ## Remove what was built, and the files of an interrupted demo
	$(CARGO) clean
	rm -rf .demo

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12
