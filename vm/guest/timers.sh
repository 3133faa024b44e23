#!/usr/bin/env bash
# Programs whose calls are trapped beside an interval timer without SA_RESTART, natively and under lull: a line per check, as result.sh
# has them. As root.
#   timers.sh DIR     a directory on a disk
set -uo pipefail
# shellcheck source=vm/guest/result.sh
. "$(dirname "$0")/result.sh"

readonly RUNS=10
cd "$1" || exit 1
for timer in timer fast-timer; do
    native=$(/opt/vm/signals "$timer")
    differs=0 seen=
    for ((run = 0; run < RUNS; run++)); do
        gated=$(lull run -q --gate all -- /opt/vm/signals "$timer")
        [[ $gated == "$native" ]] || { differs=$((differs + 1)) && seen=$gated; }
    done
    rm -f file
    ((differs == 0))
    result "$timer" $? "$differs of $RUNS runs differ from the one without lull: ${seen:-none}"
done
