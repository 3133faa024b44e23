#!/usr/bin/env bash
# The foreground: waits for the two processes of a job (vm-hog), computes beside them on the same CPU, and prints what part
# of what all three got was its own, in percent.
#
#   share.sh SECONDS
set -uo pipefail

ticks() { # PID: user and system time
    local rest
    rest=$(</proc/"$1"/stat) || return
    rest=${rest##*) }
    # shellcheck disable=SC2086 # fields
    set -- $rest
    echo $((${12} + ${13}))
}

for ((i = 0; i < 300; i++)); do
    mapfile -t job < <(pgrep -x vm-hog)
    ((${#job[@]} == 2)) && break
    sleep 0.2
done
((${#job[@]} == 2)) || { echo "no job of two: ${job[*]}"; exit 1; }
taskset -c 1 bash -c 'while :; do :; done' &
own=$!
# The first second is for lull to notice.
sleep 1
own_before=$(ticks "$own") job_before=$(($(ticks "${job[0]}") + $(ticks "${job[1]}")))
sleep "$1"
own_after=$(ticks "$own") job_after=$(($(ticks "${job[0]}") + $(ticks "${job[1]}")))
kill "$own"
own_ticks=$((own_after - own_before)) job_ticks=$((job_after - job_before))
((own_ticks + job_ticks > 0)) || { echo "nobody ran"; exit 1; }
echo "$((100 * own_ticks / (own_ticks + job_ticks)))"
