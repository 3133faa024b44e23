#!/usr/bin/env bash
# What `make test` runs: every check and every test, each stage named and timed.
#
#   scripts/test.sh              all stages
#   scripts/test.sh STAGE ...    only these
#   scripts/test.sh --list       the names of the stages
#
# A stage that fails does not stop the ones after it; the table at the end names every failure, and the status is
# non-zero if there was one. A stage that cannot run here is SKIPPED with the reason, never silently.
# Environment: CI=true holds Cargo.lock and the cases of property tests fixed; CARGO_TARGET_DIR is respected.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
export PATH="$PATH:$HOME/.cargo/bin:/usr/sbin:/sbin"

readonly STAGES=(tree fmt clippy c-format shell test doctest doc deny root)
locked=()
[[ -n ${CI:-} ]] && locked=(--locked)
# Some properties hold for nearly all cases only, such as a forecast beside one simulated run. What decides about a change
# must not depend on luck; people at work look at other cases each time.
[[ -n ${CI:-} ]] && export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"

# Status of a stage that could not run here. Its reason goes into $reason_file.
readonly SKIPPED=77
reason_file=$(mktemp)
trap 'rm -f "$reason_file"' EXIT

skip() {
    echo "SKIPPED: $*"
    echo "$*" >"$reason_file"
    return "$SKIPPED"
}

has_nextest() { cargo nextest --version >/dev/null 2>&1; }

# Files that grew past what one idea needs, BPF programs without a licence, production code that leans on experiments, and documents that
# name what is not there.
stage_tree() {
    local file lines bad=0
    while IFS= read -r file; do
        lines=$(wc -l <"$file")
        if ((lines > 700)); then
            echo "$file: $lines lines; 700 is the end: one idea per module"
            bad=1
        fi
    done < <(git ls-files -- '*.rs' '*.c' '*.h' '*.sh' '.ci/run' | while read -r file; do [[ -e $file ]] && echo "$file"; done)
    for file in crates/lull-bpf/src/bpf/*.[ch]; do
        [[ -e $file ]] || continue
        if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: .*GPL-2.0'; then
            echo "$file: no SPDX-License-Identifier in its first two lines (see crates/lull-bpf/LICENSE)"
            bad=1
        fi
    done
    while IFS= read -r file; do
        echo "$file: uses lull-bench; nothing but the commands of the binary that are its own may"
        bad=1
    done < <({ git grep -l 'lull_bench' -- 'crates/*.rs'; git grep -l 'lull-bench' -- 'crates/*/Cargo.toml'; } |
        grep -vE '^crates/(lull-bench/.*|lull/(Cargo\.toml|src/(main|cli)\.rs|tests/.*))$')
    scripts/docs.sh || bad=1
    return "$bad"
}

stage_fmt() { cargo fmt --all -- --check; }

stage_clippy() { cargo clippy --workspace --all-targets --keep-going "${locked[@]}" -- -D warnings; }

# Formatters differ between versions: only the one the project is formatted with decides.
stage_c-format() {
    local format files=()
    mapfile -t files < <(compgen -G 'crates/lull-bpf/src/bpf/*.[ch]')
    ((${#files[@]})) || { skip "no BPF sources"; return; }
    format=$(scripts/deps.sh --clang-format) || { skip "no clang-format: scripts/deps.sh test installs it"; return; }
    "$format" --dry-run -Werror "${files[@]}" && return
    "$format" --version | grep -q 'version 19\.' && return 1
    skip "$format is not version 19 and would format differently"
}

stage_shell() {
    command -v shellcheck >/dev/null || { skip "no shellcheck: apt-get install shellcheck"; return; }
    shellcheck -x scripts/*.sh vm/*.sh vm/*/*.sh condor/*.sh .ci/run
}

stage_test() {
    if has_nextest; then
        cargo nextest run --profile ci --workspace "${locked[@]}" -E 'not test(/root_/)'
    else
        echo "no cargo-nextest (cargo install --locked cargo-nextest): using cargo test, without time limits"
        cargo test --workspace "${locked[@]}" --lib --bins --tests -- --skip root_
    fi
}

stage_doctest() { cargo test --doc --workspace "${locked[@]}"; }

stage_doc() { RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --keep-going "${locked[@]}"; }

stage_deny() {
    cargo deny --version >/dev/null 2>&1 || { skip "no cargo-deny: cargo install --locked cargo-deny"; return; }
    cargo deny check licenses bans sources
}

# Tests that load BPF programs, make cgroups or loop devices. Only the test programs run as root: the build stays
# the caller's, so that no file in target/ ends up belonging to root.
stage_root() {
    local host runner=()
    if ((EUID != 0)); then
        sudo -n true 2>/dev/null || { skip "not root, and sudo asks for a password: sudo -v first"; return; }
        host=$(rustc -vV | sed -n 's/^host: //p')
        host=${host//-/_}
        runner=("CARGO_TARGET_${host^^}_RUNNER=sudo -n -E")
    fi
    if has_nextest; then
        env "${runner[@]}" cargo nextest run --profile ci --workspace "${locked[@]}" \
            -E 'test(/root_/)' --no-tests pass --success-output final
    else
        env "${runner[@]}" cargo test --workspace "${locked[@]}" --lib --bins --tests -- \
            root_ --test-threads 1 --nocapture
    fi
}

wanted=()
for word in "$@"; do
    case " ${STAGES[*]} " in
    *" $word "*) wanted+=("$word") ;;
    *)
        [[ $word == --list ]] && printf '%s\n' "${STAGES[@]}" && exit 0
        echo "test: no stage '$word'; there are: ${STAGES[*]}" >&2
        exit 2
        ;;
    esac
done
((${#wanted[@]})) || wanted=("${STAGES[@]}")

command -v cargo >/dev/null || {
    echo "test: no cargo on PATH: install Rust from https://rustup.rs" >&2
    exit 2
}
scripts/deps.sh test || echo "test: going on with what is there" >&2

table=()
failed=0
began=$SECONDS
for stage in "${wanted[@]}"; do
    echo
    echo "=== $stage"
    : >"$reason_file"
    from=$SECONDS
    (set -e; "stage_$stage") </dev/null
    status=$?
    took=$((SECONDS - from))
    case $status in
    0) line=$(printf '%-9s %-8s %5d s' "$stage" ok "$took") ;;
    "$SKIPPED") line=$(printf '%-9s %-8s %5d s  %s' "$stage" SKIPPED "$took" "$(cat "$reason_file")") ;;
    *)
        line=$(printf '%-9s %-8s %5d s  status %d; again: scripts/test.sh %s' "$stage" FAILED "$took" "$status" "$stage")
        failed=$((failed + 1))
        ;;
    esac
    echo "=== $line"
    table+=("$line")
done

echo
echo "=== summary, $((SECONDS - began)) s"
printf '%s\n' "${table[@]}"
if ((failed)); then
    echo "$failed of ${#wanted[@]} stages FAILED"
    exit 1
fi
echo "all stages passed"
