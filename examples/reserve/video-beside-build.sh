#!/usr/bin/env bash
# A video beside a build and a database: the picture is decoded in time because half of a CPU is reserved for it, whatever the other two do.
#
#   sudo examples/reserve/video-beside-build.sh [SECONDS]      for each case (default 8)
#
# The video is a stand-in for a decoder: 25 pictures a second at fixed times, 12 ms of processor time each (`lull load cpu-serve`); a picture is late
# if it is not ready within 40 ms. Redis, asked by 20 connections, is the database; a loop of the C compiler in four processes is the build.
# All share one CPU, as on a small machine. It prints a table: pictures and how late they are, alone, beside both, and with a reservation.
# It needs root, redis-server, redis-benchmark and a C compiler, and leaves nothing behind.
set -euo pipefail

seconds=${1:-8}
lull=${LULL:-lull}
here=$(mktemp -d)
chmod 755 "$here"
reserv=$here/reserv
port=8389
others=()

finish() {
    stop_others
    mountpoint -q "$reserv" && "$lull" reserve unmount --lazy "$reserv"
    rm -rf "$here"
}
trap finish EXIT

# in_reservation WHERE COMMAND...: in a reservation of CPU time, or as it is for "".
in_reservation() {
    local where=$1
    shift
    if [[ -z $where ]]; then exec taskset -c 0 "$@"; fi
    exec "$lull" reserve exec --cpu "$where" -- taskset -c 0 "$@"
}

# Each in a session of its own, so that all of it can be ended.
start_others() { # DATABASE'S BUILD'S
    (in_reservation "$1" setsid redis-server --port "$port" --save "" --appendonly no --daemonize no >/dev/null) &
    others+=($!)
    until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
    (in_reservation "$1" setsid redis-benchmark -p "$port" -l -c 20 -t get -q >/dev/null 2>&1) &
    others+=($!)
    for _ in 1 2 3 4; do
        # shellcheck disable=SC2016 # for the inner shell
        (in_reservation "$2" setsid sh -c 'while :; do cc -O2 -c "$0" -o /dev/null; done' "$here/source.c" 2>/dev/null) &
        others+=($!)
    done
    sleep 0.5
}

stop_others() {
    local pid
    for pid in "${others[@]}"; do kill -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null || true; done
    if [[ ${#others[@]} -gt 0 ]]; then wait "${others[@]}" 2>/dev/null || true; fi
    others=()
}

value() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" <<<"$line" | tail -n 1; }

measure() { # NAME VIDEO'S
    local line
    line=$( (in_reservation "$2" "$lull" load cpu-serve --load 30 --service 12ms --spread fixed --reads "$reads" \
        --seconds "$seconds" --json) | tail -n 1)
    awk -v name="$1" -v n="$(value requests)" -v s="$(value seconds)" -v mean="$(value mean_ns)" -v p90="$(value p90_ns)" -v p99="$(value p99_ns)" \
        'BEGIN { printf "| %s | %.1f | %.0f | %.0f | %.0f | %s |\n", name, n / s, mean / 1e6, p90 / 1e6, p99 / 1e6, p99 < 40e6 ? "yes" : "no" }'
}

{
    echo '#include <stdio.h>'
    for f in $(seq 200); do
        echo "int f$f(int n) { int s = $f; for (int i = 0; i < n; i++) s = s * 31 + (i ^ s); printf(\"%d\", s); return s; }"
    done
} >"$here/source.c"
# A picture costs the same in each case.
reads=$(taskset -c 0 "$lull" load cpu-calibrate --service 12ms --json | sed -n 's/.*"reads":\([0-9]*\).*/\1/p')

echo "| case | pictures/s | mean ms | p90 ms | p99 ms | 99 of 100 in time |"
echo "|---|---|---|---|---|---|"
measure "video alone" ""
start_others "" ""
measure "beside a build and a database" ""
stop_others
"$lull" reserve mount "$reserv"
mkdir "$reserv"/cpu/r{0,1,2}
echo "60% 60" >"$reserv/cpu/r0/share"
echo "20% 30" >"$reserv/cpu/r1/share"
echo "0% 10" >"$reserv/cpu/r2/share"
start_others "$reserv/cpu/r1" "$reserv/cpu/r2"
measure "the same, 60% reserved" "$reserv/cpu/r0"
