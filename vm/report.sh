# shellcheck shell=bash disable=SC2016,SC2094
# (Backquotes of Markdown are not commands; a file is only read twice.)
# What came of a run in the virtual machine: the verdict, and the table of docs/results/vm.md. Sourced by vm/test.sh.
#
# Results are lines of `WHO|CHECK|ok, FAIL or info|DETAIL`. vm/known-failures has the lines that may fail.

known() { # KERNEL WHO CHECK: always|sometimes, since, why; status 1 if it is not listed
    local kernel who check when since why
    while IFS='|' read -r kernel who check when since why; do
        [[ $kernel == \#* || -z $kernel ]] && continue
        # The fields are patterns.
        # shellcheck disable=SC2053
        if [[ $1 == $kernel && $2 == $who && $3 == $check ]]; then
            echo "$when|$since|$why"
            return 0
        fi
    done <"$VM_DIR/known-failures"
    return 1
}

# Tells every failure, known or not, and what works against expectation. Status 1 if a run like this must not pass.
verdict() { # RESULTS
    local who check status detail entry when since why bad=0 good=0 listed=0
    echo
    while IFS='|' read -r who check status detail; do
        [[ $status == info ]] && continue
        # shellcheck disable=SC2154 # set by vm/test.sh
        entry=$(known "$kernel" "$who" "$check") || entry=
        IFS='|' read -r when since why <<<"$entry"
        if [[ $status == ok && $when == always ]]; then
            echo "WORKS NOW      $who: $check ($detail): take its line out of vm/known-failures"
            bad=$((bad + 1))
        elif [[ $status == ok ]]; then
            good=$((good + 1))
        elif [[ -n $entry ]]; then
            echo "KNOWN FAILURE  $who: $check ($detail): $why (since $since)"
            listed=$((listed + 1))
        else
            echo "FAILED         $who: $check ($detail)"
            bad=$((bad + 1))
        fi
    done <"$1"
    echo "vm, kernel $kernel: $good checks passed, $bad failed, $listed known failures"
    ((bad == 0))
}

status_of() { # RESULTS WHO CHECK
    local line
    line=$(grep -m 1 "^$2|$3|" "$1") || { echo '–' && return; }
    case $line in
    *'|ok|'*) echo yes ;;
    *'|FAIL|'*) echo '**no**' ;;
    *) cut -d '|' -f 4- <<<"$line" ;;
    esac
}

# One row for each of those who run lull, and a line for all that does not work.
table() { # RESULTS
    local who check status detail entry when since why cells
    echo "## Linux $(status_of "$1" machine kernel)"
    echo
    echo '| who runs lull | doctor | result, status, signal | CPU class in force against another session | requests gated | disks watched by BPF | memory kept free | page cache watched | network | nothing left | supervisor killed: job right |'
    echo '|---|---|---|---|---|---|---|---|---|---|---|'
    for who in "${SURROUNDINGS[@]}"; do
        cells="| $(describe "$who") "
        for check in doctor job cpu-class gate sensor-bpf memory page-cache net leftovers kill; do
            cells+="| $(status_of "$1" "$who" "$check") "
        done
        echo "$cells|"
    done
    echo
    echo '| beyond the table | |'
    echo '|---|---|'
    while IFS='|' read -r who check status detail; do
        [[ $who =~ ^(machine|services|package|reservations|slow-nvme|nvme-paths)$ && $status != info ]] \
            && echo "| $who: $check | $(status_of "$1" "$who" "$check") |"
    done <"$1"
    echo
    echo 'What does not work:'
    echo
    echo '| who | what | seen | why | since |'
    echo '|---|---|---|---|---|'
    while IFS='|' read -r who check status detail; do
        [[ $status == FAIL ]] || continue
        entry=$(known "$kernel" "$who" "$check") || entry='|this run|not known'
        IFS='|' read -r when since why <<<"$entry"
        echo "| $who | $check | $detail | $why | $since |"
    done <"$1"
    echo
}

# The page has one part for each kernel that was tested with this tree.
write_page() {
    local part
    {
        echo '# Who runs lull in Debian 13'
        echo
        echo 'Written by `make test-vm ARGS=--write`: see [vm.md](../vm.md). Emulated machine with 2 CPUs, systemd, cgroup v2.'
        echo
        for part in "$CACHE"/vm-*.md; do cat "$part"; done
    } >"$ROOT_DIR/docs/results/vm.md"
    say "wrote docs/results/vm.md"
}
