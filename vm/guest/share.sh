#!/usr/bin/env bash
# The foreground: computes on CPU 1, alone or beside the two processes of a job (vm-hog) that want the same CPU, and prints
# what it had of a CPU's time and, beside a job, what both of that had together and where they ran, in percent of the clock.
#
#   share.sh alone SECONDS     OWN
#   share.sh beside SECONDS    OWN JOB CPU CPU
#
# What lull lends may be another CPU than the one that the job asked for: so the foreground's share of its own time is what
# counts, not its share of what all three had.
set -uo pipefail

ran() { # PID ...: nanoseconds on a CPU, of all of them
    local pid ns rest sum=0
    for pid in "$@"; do
        read -r ns rest </proc/"$pid"/schedstat || return
        sum=$((sum + ns))
    done
    echo "$sum"
}

now() { echo "${EPOCHREALTIME/[^0-9]/}"; }

job=()
if [[ $1 == beside ]]; then
    for ((i = 0; i < 300; i++)); do
        mapfile -t job < <(pgrep -x vm-hog)
        ((${#job[@]} == 2)) && break
        sleep 0.2
    done
    ((${#job[@]} == 2)) || { echo "no job of two: ${job[*]}"; exit 1; }
fi
taskset -c 1 bash -c 'while :; do :; done' &
own=$!
trap 'kill "$own"' EXIT
# The first second is for lull to notice.
sleep 1
own_before=$(ran "$own") job_before=$(ran "${job[@]}") since=$(now)
sleep "$2"
own_after=$(ran "$own") job_after=$(ran "${job[@]}") micros=$(($(now) - since))
percent() { echo $((($2 - $1) / 10 / micros)); }
echo "$(percent "$own_before" "$own_after")" \
    ${job[@]:+"$(percent "$job_before" "$job_after")" $(ps -o psr= -p "${job[0]},${job[1]}")}
