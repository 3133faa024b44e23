#!/usr/bin/env bash
# A build beside a database: the database has nine tenths of the CPU reserved whenever it wants them, the build has the rest, and all that the
# database leaves.
#
#   sudo examples/reserve/build-beside-database.sh [REQUESTS]      requests to the database in each case (default 200000)
#
# Redis is the database, make -j4 of generated C files the build. It prints a table: what the database serves alone, beside the
# build, and beside the build with reservations. It needs root, redis-server, redis-benchmark, make and a C compiler, and leaves nothing behind.
set -euo pipefail

requests=${1:-200000}
lull=${LULL:-lull}
here=$(mktemp -d)
chmod 755 "$here"
reserv=$here/reserv
port=8379
database=()
build=()

finish() {
    stop_build
    if [[ ${#database[@]} -gt 0 ]]; then kill "${database[@]}" 2>/dev/null || true; fi
    wait 2>/dev/null || true
    mountpoint -q "$reserv" && "$lull" reserve unmount --lazy "$reserv"
    rm -rf "$here"
}
trap finish EXIT

# in_reservation WHERE COMMAND...: in a reservation of CPU time, or as it is for "".
in_reservation() {
    local where=$1
    shift
    if [[ -z $where ]]; then exec "$@"; fi
    exec "$lull" reserve exec --cpu "$where" -- "$@"
}

start_database() {
    (in_reservation "$1" redis-server --port "$port" --save "" --appendonly no --daemonize no >/dev/null) &
    database=($!)
    until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
}

stop_database() {
    kill "${database[@]}"
    wait "${database[@]}" 2>/dev/null || true
    database=()
}

# Builds over and over, in a session of its own as from another terminal, and leaves a line in built for each round.
start_build() {
    : >"$here/built"
    cd "$here/source"
    # shellcheck disable=SC2016 # for the inner shell
    (in_reservation "$1" setsid sh -c 'echo $$ > leader; while :; do make -s -j4 clean all; done' 2>/dev/null) &
    build=($!)
    sleep 0.5
}

stop_build() {
    if [[ -s $here/source/leader ]]; then
        kill -- "-$(cat "$here/source/leader")" 2>/dev/null || true
        rm -f "$here/source/leader"
    fi
    if [[ ${#build[@]} -gt 0 ]]; then wait "${build[@]}" 2>/dev/null || true; fi
    build=()
}

# measure NAME DATABASE'S BUILD'S: the reservations, "" for none, "-" for no build.
measure() {
    local begun built line
    start_database "$2"
    if [[ $3 != - ]]; then start_build "$3"; fi
    begun=$(date +%s%N)
    : >"$here/built"
    line=$( (in_reservation "$2" redis-benchmark -p "$port" -n "$requests" -c 20 -t get --csv) | tail -n 1 | tr -d '"')
    built=$(wc -l <"$here/built")
    awk -F, -v name="$1" -v built="$built" -v ns="$(($(date +%s%N) - begun))" \
        '{ printf "| %s | %d | %.2f | %.2f | %.1f |\n", name, $2, $3, $7, built / ns * 1e9 }' <<<"$line"
    stop_build
    stop_database
}

mkdir "$here/source"
for n in $(seq 100); do
    {
        echo '#include <stdio.h>'
        for f in $(seq 40); do
            echo "int f${n}_$f(int n) { int s = $f; for (int i = 0; i < n; i++) s = s * 31 + (i ^ s); printf(\"%d\", s); return s; }"
        done
    } >"$here/source/f$n.c"
done
{
    echo "OBJECTS = $(seq -s ' ' -f 'f%g.o' 100)"
    # shellcheck disable=SC2016 # for make
    echo 'all: $(OBJECTS)'
    printf 'clean:\n\trm -f *.o\n'
    printf '%%.o: %%.c\n\tcc -O2 -c $<\n\techo >> ../built\n'
} >"$here/source/Makefile"

echo "| case | database's requests/s | mean ms | p99 ms | compiled files/s |"
echo "|---|---|---|---|---|"
measure "database alone" "" -
measure "beside a build" "" ""
"$lull" reserve mount "$reserv"
mkdir "$reserv/cpu/r0" "$reserv/cpu/r1"
echo "90% 90" >"$reserv/cpu/r0/share"
echo "0% 10" >"$reserv/cpu/r1/share"
measure "beside a build, 90% reserved" "$reserv/cpu/r0" "$reserv/cpu/r1"
