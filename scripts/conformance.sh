#!/usr/bin/env bash
# Whether programs come to the same results under `lull run` as without it: conformance/programs.sh has the table.
#
#   scripts/conformance.sh [OPTION...] [NAME...]     all programs, or those named
#     --quick            only those that `make test` runs too
#     --list             the names, and what each needs
#     --awake            the job drops the idle CPU class: for a machine that others keep busy, where it would hardly run
#     --option=OPTION    one more option of `lull run` while the job is held, such as --option=--hold=freeze; may be
#                        repeated
#
# Each program runs four times, in an empty directory of the same name:
#
#   native     without lull
#   alone      under lull, with the machine to itself
#   gated      every read and write trapped, beside small direct reads of the foreground
#   held       the whole job held most of the time: such reads, an interval without end, and a part of the job that reads
#              around the gate (beside.c)
#
# Standard output, status and the files left behind must be equal. What a run under lull was held is told, and one that was
# never held although it should have been is a failure. Status: 0 equal, 1 not, 2 something is wrong with the suite.
# What is not installed is installed by scripts/deps.sh conformance; what cannot be is SKIPPED, aloud.
# Environment: LULL, the program to test (target/release/lull); CONFORMANCE_DIR, a directory on a disk (target/conformance).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
export PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C TZ=UTC

LULL=$(realpath "${LULL:-${CARGO_TARGET_DIR:-target}/release/lull}")
PROGRAMS=$PWD/conformance
place=$(realpath -m "${CONFORMANCE_DIR:-${CARGO_TARGET_DIR:-target}/conformance}")/$$
readonly LULL PROGRAMS place
readonly MODES=(native alone gated held)
# A program that takes longer hangs.
readonly HANG_S=300

quick='' list='' awake=() options=() names=()
for word in "$@"; do
    case $word in
    --quick) quick=1 ;;
    --list) list=1 ;;
    --awake) awake=(awake) ;;
    --option=*) options+=("${word#--option=}") ;;
    -*) echo "conformance: unknown option '$word'; see the head of $0" >&2 && exit 2 ;;
    *) names+=("$word") ;;
    esac
done

failed=() skipped=() ran=0 foreground=''

finish() {
    [[ -n $foreground ]] && kill "$foreground" 2>/dev/null
    cd / && rm -rf "$place"
}

# The same input each time: bytes that do not compress, lines, and a tree of small files.
make_input() {
    mkdir -p "$IN/tree" || exit 2
    openssl enc -aes-128-ctr -K 01 -iv 01 -in /dev/zero 2>/dev/null | head -c 2500000 >"$IN/noise"
    awk 'BEGIN { x = 1; for (i = 0; i < 120000; i++) { x = (x * 16807) % 2147483647; print x, x % 97, "line" } }' >"$IN/lines"
    local dir file
    for dir in {1..6}; do
        mkdir "$IN/tree/$dir"
        for file in {1..12}; do
            head -c $((dir * file * 700)) "$IN/lines" >"$IN/tree/$dir/$file"
        done
    done
    # Read by nobody but beside.c.
    head -c 67108864 /dev/zero >"$place/disk"
    sync -f "$place"
}

compile() {
    local name
    mkdir -p "$BIN"
    for name in waits transfers signals beside; do
        "${CC:-cc}" -O1 -Wall -Wextra -o "$BIN/$name" "$PROGRAMS/$name.c" || exit 2
    done
    if command -v go >/dev/null; then
        GOCACHE=$place/go-cache GO111MODULE=off go build -o "$BIN/calls_go" "$PROGRAMS/calls.go" || exit 2
        rm -rf "$place/go-cache"
    fi
}

# What a run leaves: its files by name, kind, mode and content.
snapshot() {
    find . -mindepth 1 -printf '%y %m %P %l\n' | sort
    find . -type f -print0 | sort -z | xargs -0r sha256sum
}

run_in() { # MODE TEXT: in $place/run, results to $place/MODE.*
    local mode=$1 text=$2 words=()
    rm -rf "$place/run" && mkdir "$place/run" && cd "$place/run" || exit 2
    rm -f "$place/summary"
    local lull=("$LULL" run --json --summary "$place/summary")
    case $mode in
    native) ;;
    alone) words=("${lull[@]}" -- "${awake[@]}") ;;
    gated) words=("${lull[@]}" --gate all --interval none -- "${awake[@]}") ;;
    held) words=("${lull[@]}" --gate none --interval inf "${options[@]}" -- "${awake[@]}" "$BIN/beside" leak "$place/disk") ;;
    esac
    if [[ $mode == gated || $mode == held ]]; then
        "$BIN/beside" foreground "$place/disk" &
        foreground=$!
    fi
    # `timeout` as a command of its own group would take the job from the terminal.
    timeout --foreground -k 5 "$HANG_S" "${words[@]}" bash -c "$text" </dev/null >"$place/$mode.out" 2>"$place/$mode.err"
    echo "status $?" >>"$place/$mode.out"
    if [[ -n $foreground ]]; then
        kill "$foreground" && wait "$foreground" 2>/dev/null
        foreground=''
    fi
    snapshot >"$place/$mode.files"
    cd "$place" || exit 2
}

number_of() { # KEY: from the summary of the last run, 0 if there is none
    grep -o "\"$1\":[0-9]*" "$place/summary" 2>/dev/null | head -n 1 | cut -d: -f2 | grep . || echo 0
}

compare() { # NAME TEXT
    local name=$1 text=$2 mode part line='' bad='' began held
    for mode in "${MODES[@]}"; do
        began=${EPOCHREALTIME/./}
        run_in "$mode" "$text"
        line+=$(printf '  %s %d ms' "$mode" $(((${EPOCHREALTIME/./} - began) / 1000)))
        [[ $mode == native ]] && continue
        if [[ $mode == held ]]; then
            held=$(number_of holds)
            line+=" ($held holds, $(($(number_of job_held_ns) / 1000000)) ms)"
            ((held > 0)) || { bad=1 && echo "conformance: $name was not held: $(cat "$place/held.err" "$place/summary" 2>&1 | head -c 1000)"; }
        fi
        for part in out files; do
            diff "$place/native.$part" "$place/$mode.$part" >"$place/diff" && continue
            bad=1
            echo "conformance: $name: $part differ, native (<) and $mode (>):"
            head -n 12 "$place/diff"
            head -n 5 "$place/$mode.err"
        done
    done
    ran=$((ran + 1))
    if [[ -n $bad ]]; then
        failed+=("$name")
        echo "FAILED  $name $line"
    else
        echo "equal   $name $line"
    fi
}

program() { # NAME TAG TOOLS..., its text on stdin
    local name=$1 tag=$2 tool text
    shift 2
    text=$(cat)
    if ((${#names[@]})); then
        [[ " ${names[*]} " == *" $name "* ]] || return 0
    elif [[ -n $quick && $tag != quick ]]; then
        return 0
    fi
    if [[ -n $list ]]; then
        echo "$name ($tag) $*"
        return 0
    fi
    for tool in "$@"; do
        # PACKAGE:COMMAND, where the two have different names.
        if ! command -v "${tool#*:}" >/dev/null; then
            echo "SKIPPED $name: no ${tool#*:} (package ${tool%:*})"
            skipped+=("$name")
            return 0
        fi
    done
    compare "$name" "$text"
}

if [[ -n $list ]]; then
    # shellcheck source=conformance/programs.sh
    source "$PROGRAMS/programs.sh"
    exit 0
fi
((EUID == 0)) || { echo "SKIPPED: needs root: only then is a job held" && exit 0; }
[[ -x $LULL ]] || { echo "conformance: no program $LULL; make builds it" >&2 && exit 2; }
[[ -n $quick ]] || scripts/deps.sh conformance || echo "conformance: going on with what is there" >&2
trap finish EXIT
((${#awake[@]})) && awake=("$place/bin/beside" awake)
export IN=$place/in BIN=$place/bin PROGRAMS HOME=$place/run
make_input
compile
# shellcheck source=conformance/programs.sh
source "$PROGRAMS/programs.sh"
echo "$ran programs, ${#failed[@]} with other results than natively${failed[*]:+: ${failed[*]}}; ${#skipped[@]} skipped${skipped[*]:+: ${skipped[*]}}"
((ran > 0)) || { echo "conformance: no such program: ${names[*]}; --list names them" >&2 && exit 2; }
((${#failed[@]} == 0))
