#!/usr/bin/env bash
# More datagrams than a server can read: what it still reads, in the plain system and with lull reserve.
# The experiments of Bruno and others, USENIX 1999, 5.4 (figures 8 and 9).
#
#   sudo examples/reserve/overload.sh [SECONDS [RATES [ROUNDS]]]   SECONDS for each measurement (default 3), RATES like "3000 30000 640000":
#                                                             datagrams per second to each server
#
# Two network namespaces with a veth pair are two hosts. Servers have one CPU, the sender has the other one; what comes is handled on the
# servers' CPU, as on a machine of its own. A server computes for each datagram of 10 bytes. It prints one line per case, round and rate: what was
# sent per second to each server, and what each server read.
#
#   plain      one server
#   input      one server, in a reservation of the interface
#   input+cpu  … and with 77% of the CPU reserved
#   plain4, even4, first4    four servers: plain; 20% of the CPU reserved for each; 77% for the first, 1% for each of the others
#
# In all but the plain cases the thread that handles what comes has 20% of the CPU reserved.
#
# It needs root, two CPUs and ethtool, and leaves nothing behind.
set -euo pipefail

seconds=${1:-3}
rates=${2:-"3000 6000 12000 24000 48000 96000 640000"}
rounds=${3:-1}
cases=${CASES:-"plain input input+cpu plain4 even4 first4"}
work=${WORK:-80000}
command -v ethtool >/dev/null || { echo "$0: ethtool is missing: apt-get install ethtool" >&2 && exit 1; }
lull=$(command -v "${LULL:-lull}")
servers_cpu=1
sender_cpu=0
dev=lv$$
address=10.99.0.1
here=$(mktemp -d)
reserv=$here/reserv
name=lull-overload-$$
left=$name-a
right=$name-b
running=()

unmount() { if mountpoint -q "$reserv"; then in_left "$lull" reserve unmount --lazy "$reserv"; fi; }
stop_all() {
    local pid
    for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    running=()
}
finish() {
    stop_all
    unmount || true
    ip netns del "$left" 2>/dev/null || true
    ip netns del "$right" 2>/dev/null || true
    rm -rf "$here"
}
trap finish EXIT

# nsenter, and not ip netns exec: the mount has to be in this mount namespace.
in_left() { nsenter --net="/run/netns/$left" "$@"; }

ip netns add "$left"
ip netns add "$right"
ip -n "$left" link add "$dev" type veth peer name "$dev" netns "$right"
ip -n "$left" addr add "$address/24" dev "$dev"
ip -n "$right" addr add 10.99.0.2/24 dev "$dev"
# What is sent at once is cut into datagrams by the sender. Without offloads of TCP at its end a veth polls, once it has GRO.
ip -n "$right" link set "$dev" gso_max_segs 1
ip netns exec "$right" ethtool -K "$dev" tso off
for host in "$left" "$right"; do ip -n "$host" link set "$dev" up; done

# prepare CASE: what comes is handled on the servers' CPU; a driver that polls, as those of cards do, for all but the plain cases.
prepare() {
    local mask
    unmount
    printf -v mask %x $((1 << servers_cpu))
    case $1 in
    plain*)
        ip netns exec "$left" ethtool -K "$dev" gro off
        ip netns exec "$left" sh -c "echo $mask >/sys/class/net/$dev/queues/rx-0/rps_cpus"
        return
        ;;
    esac
    ip netns exec "$left" sh -c "echo 0 >/sys/class/net/$dev/queues/rx-0/rps_cpus"
    ip netns exec "$left" ethtool -K "$dev" gro on
    in_left "$lull" reserve mount --net "$dev:1000mbit" "$reserv"
    local thread i share
    # A fifth of the CPU for the thread that handles what comes; the servers share the rest.
    mkdir "$reserv/$dev/r"{0,1,2,3} "$reserv/cpu/r"{0,1}
    echo "20% 20" >"$reserv/cpu/r0/share"
    echo "80% 80" >"$reserv/cpu/r1/share"
    for thread in $(pgrep "^napi/$dev-"); do
        taskset -pc "$servers_cpu" "$thread" >/dev/null
        echo cpu/r0 >"$reserv/proc/$thread/enter"
    done
    for i in 0 1 2 3; do
        share=20
        [[ $1 == *4 ]] && echo "25% 25" >"$reserv/$dev/r$i/share"
        case $1 in first4 | input+cpu) share=$((i == 0 ? 77 : 1)) ;; esac
        mkdir "$reserv/cpu/r1/r$i"
        echo "$share% $share" >"$reserv/cpu/r1/r$i/share"
    done
}

# server CASE NUMBER
server() {
    local domain=()
    case $1 in
    plain*) ;;
    input) domain=("$lull" reserve exec --net "$reserv/$dev/r$2" --) ;;
    *) domain=("$lull" reserve exec --net "$reserv/$dev/r$2" --cpu "$reserv/cpu/r1/r$2" --) ;;
    esac
    in_left taskset -c "$servers_cpu" "${domain[@]}" "$lull" load packets-serve --address "$address:$((7000 + $2))" \
        --work "$work" --warmup 500ms --seconds "$seconds" --json >"$here/server$2" &
    running+=($!)
}

value() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$1"; }
per_second() { awk -v n="$(value "$1" requests)" -v s="$(value "$1" seconds)" 'BEGIN { printf "%d", n / s }'; }

echo "| case | sent/s to each | read/s |"
echo "|---|---|---|"
for ((round = 0; round < rounds; round++)); do
    for case in $cases; do
        prepare "$case"
        servers=1
        [[ $case == *4 ]] && servers=4
        for rate in $rates; do
            to=()
            for ((i = 0; i < servers; i++)); do
                server "$case" "$i"
                to+=(--to "$address:$((7000 + i))")
            done
            until [[ $(in_left cat /proc/net/udp | grep -c " 0100630A:1B5") -ge $servers ]]; do sleep 0.05; done
            # Longer than the servers count; they end first.
            nsenter --net="/run/netns/$right" taskset -c "$sender_cpu" "$lull" load packets-send "${to[@]}" --rate "$rate" \
                --seconds 600 --json >"$here/sender" &
            sender=$!
            for pid in "${running[@]}"; do wait "$pid"; done
            running=()
            kill "$sender"
            wait "$sender" || true
            read=()
            for ((i = 0; i < servers; i++)); do read+=("$(per_second "$here/server$i")"); done
            echo "| $case | $(($(per_second "$here/sender") / servers)) | ${read[*]} |"
        done
    done
done
