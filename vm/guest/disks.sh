#!/usr/bin/env bash
# A foreground that reads from a disk, alone and beside a job that reads there, too: one line per check, as result.sh has them.
# As root.
#
#   disks.sh slow FILE SECONDS     a disk of 200 requests/s
#   disks.sh seen FILE SECONDS     any disk: whose requests the summary says are whose
set -uo pipefail
# shellcheck source=vm/guest/result.sh
. "$(dirname "$0")/result.sh"
file=$2 seconds=$3
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
disk=$(lsblk -no NAME "$(findmnt -no SOURCE -T "$file")")

# Requests of the foreground, of which the last SECONDS count: a disk that was idle has saved some up, which are spent before.
foreground() {
    local read=(lull load disk-read --file "$file" --direct --random --think 6ms --json --seconds)
    "${read[@]}" "$seconds" >/dev/null
    "${read[@]}" "$seconds" | jq .requests
}

# The same beside a job under `lull run` with these options. Sets `beside`; leaves job.json and summary.json.
beside() { # OPTION ...
    local front
    lull run -q --json --summary "$dir/summary.json" "$@" -- \
        lull load disk-random --file "$file" --json >"$dir/job.json" &
    front=$!
    beside=$(foreground)
    kill "$front"
    wait "$front"
}

# The job's calls are trapped, and its requests and the foreground's are known for what they are, on the disk that serves them.
seen() {
    local own=$1 job ours theirs trapped
    job=$(jq .requests "$dir/job.json")
    read -r ours theirs trapped < <(jq -r --arg disk "$disk" \
        '. as $all | .disks[] | select(.disk == $disk) | "\(.foreground_requests) \(.background_requests) \($all.gate.trapped)"' \
        "$dir/summary.json")
    # The sensor may miss the first ones, and one in a thousand.
    ((own > 0 && job > 0 && 10 * ours >= 9 * own && 10 * theirs >= 9 * job && theirs <= job + job / 10 && trapped >= theirs))
    result seen $? "on $disk: ${ours:-0} of the foreground, which made $own and as many before; ${theirs:-0} of the job, which made $job, ${trapped:-0} trapped"
}

case $1 in
slow)
    alone=$(foreground)
    beside --interval 20ms
    ((10 * beside >= 9 * alone))
    result held $? "at a fixed interval of 20 ms $beside requests beside the job, $alone alone; the job made $(jq .requests "$dir/job.json")"
    beside
    seen "$beside"
    ((10 * beside >= 9 * alone))
    result requests $? "$beside requests beside the job, $alone alone, in $seconds s; the job made $(jq .requests "$dir/job.json")"
    ;;
seen)
    beside
    seen "$beside"
    ;;
esac
