#!/usr/bin/env bash
# Two web sites on one server: one has a share of the CPU reserved, the other is asked by more and more clients.
# The experiment of Bruno and others, USENIX 1999, 5.1 (figures 4 and 5).
#
#   sudo examples/reserve/two-sites.sh [SECONDS [LOADS]]      SECONDS for each measurement (default 4), LOADS like "0 10 40"
#
# Each request computes for some milliseconds in a process of its own, as CGI programs do. Ten clients keep asking the site of interest.
# The sites share one CPU, the clients have another one, as if they came over a network. It prints a table: throughput and response
# times of the site of interest, and the throughput of the other site, in the plain system and with 50% and 99% reserved.
# It needs root and two CPUs, and leaves nothing behind.
set -euo pipefail

seconds=${1:-4}
loads=${2:-"0 10 20 30 40"}
lull=${LULL:-lull}
sites_cpu=0
clients_cpu=1
here=$(mktemp -d)
chmod 755 "$here"
reserv=$here/reserv
sites=()

finish() {
    local pid
    for pid in "${sites[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    mountpoint -q "$reserv" && "$lull" reserve unmount --lazy "$reserv"
    rm -rf "$here"
}
trap finish EXIT

# start PORT [RESERVATION]: a site.
start() {
    local port=$1 domain=()
    [[ $# -gt 1 ]] && domain=("$lull" reserve exec --cpu "$2" --)
    taskset -c "$sites_cpu" "${domain[@]}" "$lull" load site-serve --address "127.0.0.1:$port" &
    sites+=($!)
    until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
}

# ask PORT CLIENTS FILE: keeps asking for the time of a measurement.
ask() {
    taskset -c "$clients_cpu" "$lull" load site-ask --address "127.0.0.1:$1" --clients "$2" --warmup 500ms \
        --seconds "$seconds" --json >"$3"
}

value() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$1"; }

# measure NAME PORT OTHER_PORT: one line for each load on the other site.
measure() {
    local load other rate
    for load in $loads; do
        other=0
        if [[ $load -gt 0 ]]; then
            ask "$3" "$load" "$here/other" &
            local asking=$!
        fi
        ask "$2" 10 "$here/interest"
        if [[ $load -gt 0 ]]; then
            wait "$asking"
            other=$(awk -v n="$(value "$here/other" requests)" -v s="$(value "$here/other" seconds)" 'BEGIN { printf "%.1f", n / s }')
        fi
        rate=$(awk -v n="$(value "$here/interest" requests)" -v s="$(value "$here/interest" seconds)" 'BEGIN { printf "%.1f", n / s }')
        awk -v name="$1" -v load="$load" -v rate="$rate" -v other="$other" -v mean="$(value "$here/interest" mean_ns)" \
            -v p99="$(value "$here/interest" p99_ns)" \
            'BEGIN { printf "| %s | %d | %s | %.1f | %.1f | %s |\n", name, load, rate, mean / 1e6, p99 / 1e6, other }'
    done
}

"$lull" reserve mount "$reserv"
cpu=$reserv/cpu
echo "| site of interest | other site's clients | requests/s | mean ms | p99 ms | other site's requests/s |"
echo "|---|---|---|---|---|---|"

start 8101
start 8102
measure "plain system" 8101 8102

mkdir "$cpu/r0" "$cpu/r1"
echo "50% 50" >"$cpu/r0/share"
echo "49% 49" >"$cpu/r1/share"
start 8103 "$cpu/r0"
start 8104 "$cpu/r1"
measure "50% reserved" 8103 8104

echo "0% 1" >"$cpu/r1/share"
echo "99% 99" >"$cpu/r0/share"
measure "99% reserved" 8103 8104
