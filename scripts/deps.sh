#!/usr/bin/env bash
# Installs what lull needs to build, test and show itself on Debian and Ubuntu, and nothing that is there already.
#
#   scripts/deps.sh [build|test|conformance|vm|deb|coverage]
#                                    build (default): to compile and run; test: also what `make test` checks with; conformance: also
#                                    the programs that `make conformance` runs; vm: also what vm/run.sh starts machines with; deb: what
#                                    `make deb` packs with; coverage: what counts covered lines
#   scripts/deps.sh --list [WHAT]    print what is missing, install nothing; status 1 if anything is
#   scripts/deps.sh --clang          print the clang the build will use; status 1 if there is none
#   scripts/deps.sh --clang-format   print the clang-format that goes with it; status 1 if there is none
#
# Never asks a question and never waits for a password. Without root and without a password-free sudo it prints the
# exact line to run. Status 0: everything is there. Status 1: something is missing, and it is named.
#
# clang: $CLANG if set; else the highest clang-N on PATH from 23 down to 14; else plain clang.
# crates/lull-bpf/build.rs looks in the same order. The project is developed with clang-19.
set -euo pipefail
# rustup puts cargo where only a login shell finds it.
export PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

readonly OLDEST_CLANG=14 NEWEST_CLANG=23
readonly CARGO_DENY=0.20.2 CARGO_DEB=3.8.0 CARGO_LLVM_COV=0.9.1
# The first one that apt offers is installed. 19 first: the others are for releases that do not have it.
readonly CLANG_CHOICES=(19 22 21 20 18 17 16 15 14)

major_of() { # COMMAND: the major version a clang or clang-format reports, 0 if it does not run
    local text
    text=$("$1" --version 2>/dev/null | head -n 1) || true
    [[ $text =~ version\ ([0-9]+) ]] && echo "${BASH_REMATCH[1]}" || echo 0
}

find_tool() { # NAME: the highest NAME-N on PATH, else NAME itself, N >= OLDEST_CLANG
    local n
    for ((n = NEWEST_CLANG; n >= OLDEST_CLANG; n--)); do
        if command -v "$1-$n" >/dev/null; then
            echo "$1-$n"
            return 0
        fi
    done
    if command -v "$1" >/dev/null && (($(major_of "$1") >= OLDEST_CLANG)); then
        echo "$1"
        return 0
    fi
    return 1
}

find_clang() {
    if [[ -n ${CLANG:-} ]]; then
        (($(major_of "$CLANG") >= OLDEST_CLANG)) && echo "$CLANG"
        return
    fi
    find_tool clang
}

# The formatter of the clang in use; a formatter of another version formats differently.
find_clang_format() {
    local clang
    if [[ -n ${CLANG_FORMAT:-} ]]; then
        (($(major_of "$CLANG_FORMAT") > 0)) && echo "$CLANG_FORMAT"
        return
    fi
    clang=$(find_clang) && command -v "clang-format-$(major_of "$clang")" >/dev/null \
        && echo "clang-format-$(major_of "$clang")" && return
    find_tool clang-format
}

has_header() { # NAME: the C compiler finds it (also in a multiarch or non-standard directory)
    echo "#include <$1>" | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}

# Missing packages, one per line. `clang?` and `clang-format?` stand for "a version that apt offers".
missing() { # build|test|conformance|vm|deb
    local tool
    command -v "${CC:-cc}" >/dev/null || echo gcc
    has_header stdio.h || echo libc6-dev
    has_header libelf.h || echo libelf-dev
    has_header zlib.h || echo zlib1g-dev
    command -v make >/dev/null || echo make
    command -v pkg-config >/dev/null || echo pkg-config
    for tool in chrt ionice losetup; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || { echo util-linux && break; }
    done
    command -v tar >/dev/null || echo tar
    find_clang >/dev/null || echo 'clang?'
    if [[ $1 == test ]]; then
        find_clang_format >/dev/null || echo 'clang-format?'
        command -v git >/dev/null || echo git
        command -v shellcheck >/dev/null || echo shellcheck
    fi
    if [[ $1 == vm ]]; then
        command -v qemu-system-x86_64 >/dev/null || echo qemu-system-x86
        command -v mmdebstrap >/dev/null || echo mmdebstrap
        command -v ssh >/dev/null || echo openssh-client
        PATH=$PATH:/usr/sbin:/sbin command -v mkfs.ext4 >/dev/null || echo e2fsprogs
    fi
    if [[ $1 == deb ]]; then
        command -v dpkg-shlibdeps >/dev/null || echo dpkg-dev
    fi
    if [[ $1 == conformance ]]; then
        # PACKAGE:COMMAND, where the two have different names, as in the table of programs.
        for tool in $("$(dirname "$0")/conformance.sh" --list | sed 's/^[^)]*)//'); do
            command -v "${tool#*:}" >/dev/null || echo "${tool%:*}"
        done | sort -u
    fi
}

offered() { # PACKAGE: apt has a candidate for it
    local policy
    policy=$(apt-cache policy "$1" 2>/dev/null) || return 1
    [[ $policy =~ Candidate:\ [0-9] ]]
}

# Missing programs that only cargo brings, one per line, as `cargo install` takes them.
missing_tools() { # build|test|vm|deb|coverage
    case $1 in
    test) cargo deny --version >/dev/null 2>&1 || echo "cargo-deny@$CARGO_DENY" ;;
    deb) cargo deb --version >/dev/null 2>&1 || echo "cargo-deb@$CARGO_DEB" ;;
    coverage) cargo llvm-cov --version >/dev/null 2>&1 || echo "cargo-llvm-cov@$CARGO_LLVM_COV" ;;
    esac
}

# Compiled without optimization and without what reads advisories or git: a minute instead of several.
install_tools() { # build|test|vm|deb|coverage
    local tool tools=()
    mapfile -t tools < <(missing_tools "$1")
    for tool in "${tools[@]}"; do
        echo "deps: compiling $tool" >&2
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --no-default-features --profile dev "$tool" </dev/null >&2 \
            || { echo "deps: cargo install --locked $tool failed" >&2 && return 1; }
    done
}

# Replaces the `?` packages on stdin by the first version that apt offers.
resolve() {
    local package clang clang_major='' n
    if clang=$(find_clang); then
        clang_major=$(major_of "$clang")
    else
        for n in "${CLANG_CHOICES[@]}"; do
            offered "clang-$n" && clang_major=$n && break
        done
    fi
    while read -r package; do
        case $package in
        'clang?') echo "clang${clang_major:+-$clang_major}" ;;
        'clang-format?')
            if [[ -n $clang_major ]] && offered "clang-format-$clang_major"; then
                echo "clang-format-$clang_major"
            else
                echo clang-format
            fi
            ;;
        *) echo "$package" ;;
        esac
    done
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    else
        sudo -n -- "$@"
    fi
}

can_be_root() {
    ((EUID == 0)) || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

apt() { # ARGS: apt-get that asks nothing, waits for another apt, and gives up on a dead mirror
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l apt-get -q -y \
        -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 -o Acquire::http::Timeout=30 "$@" </dev/null
}

install_missing() { # build|test|conformance|vm|deb
    local wanted packages=()
    wanted=$(missing "$1")
    [[ -z $wanted ]] && return 0
    if ! command -v apt-get >/dev/null; then
        echo "deps: missing: ${wanted//$'\n'/ }" >&2
        echo "deps: no apt-get here; install what provides these by your system's own means" >&2
        return 1
    fi
    if ! can_be_root; then
        mapfile -t packages <<<"$(resolve <<<"$wanted")"
        echo "deps: missing, and neither root nor a password-free sudo is at hand. Run:" >&2
        echo "    sudo apt-get update && sudo apt-get install -y ${packages[*]}" >&2
        return 1
    fi
    apt update >&2 || echo "deps: apt-get update failed; trying with the lists at hand" >&2
    # Only now: a fresh machine has no package lists to choose a version from.
    mapfile -t packages <<<"$(resolve <<<"$wanted")"
    echo "deps: installing ${packages[*]}" >&2
    apt install --no-install-recommends "${packages[@]}" >&2 || true
    wanted=$(missing "$1")
    [[ -z $wanted ]] && return 0
    echo "deps: still missing after apt-get: ${wanted//$'\n'/ }" >&2
    return 1
}

main() {
    local mode=install what=build word
    for word in "$@"; do
        case $word in
        build | test | conformance | vm | deb | coverage) what=$word ;;
        --list) mode=list ;;
        --clang) mode=clang ;;
        --clang-format) mode='clang-format' ;;
        -h | --help)
            sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
            return 0
            ;;
        *)
            echo "deps: unknown argument '$word': see scripts/deps.sh --help" >&2
            return 2
            ;;
        esac
    done
    case $mode in
    install)
        install_missing "$what" || return
        install_tools "$what"
        ;;
    list)
        word=$(missing "$what" && missing_tools "$what")
        [[ -z $word ]] && return 0
        echo "$word"
        return 1
        ;;
    clang) find_clang || { echo "deps: no clang >= $OLDEST_CLANG" >&2 && return 1; } ;;
    clang-format) find_clang_format || { echo "deps: no clang-format >= $OLDEST_CLANG" >&2 && return 1; } ;;
    esac
}

main "$@"
