# shellcheck shell=bash
# Sourced by what tests inside the machine: tells what came of one check, as `CHECK|ok or FAIL|what was seen`.
result() { # CHECK STATUS DETAIL
    local word=ok
    (($2 == 0)) || word=FAIL
    printf '%s|%s|%s\n' "$1" "$word" "$(tr -s '\n| ' ' / ' <<<"$3" | cut -c 1-300)"
}
