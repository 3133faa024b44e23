#!/usr/bin/env bash
# A sender with half of a slow interface reserved, beside more and more others (Bruno and others, USENIX 1999, 5.3, figure 7).
#
#   sudo examples/reserve/two-senders.sh [RATES [LOADS [ROUNDS]]]   RATES in Mb/s like "10 100", LOADS like "0 4 16"
#
# Two network namespaces with a veth pair. Each sender is one TCP connection that sends without end. The sender of interest starts last; it
# is counted for 1.5 s, half a second after its start. It needs root, and leaves nothing behind.
set -euo pipefail

rates=${1:-"10 100"}
loads=${2:-"0 4 16"}
rounds=${3:-3}
lull=$(command -v "${LULL:-lull}")
dev=net1
here=$(mktemp -d)
reserv=$here/reserv
name=lull-senders-$$
left=$name-a
right=$name-b
running=()

in_left() { nsenter --net="/run/netns/$left" "$@"; }
stop_all() {
    local pid
    for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    running=()
}
unmount() { if mountpoint -q "$reserv"; then in_left "$lull" reserve unmount --lazy "$reserv"; fi; }
finish() {
    stop_all
    unmount || true
    ip netns del "$left" 2>/dev/null || true
    ip netns del "$right" 2>/dev/null || true
    rm -rf "$here"
}
trap finish EXIT

ip netns add "$left"
ip netns add "$right"
ip -n "$left" link add "$dev" type veth peer name "$dev" netns "$right"
ip -n "$left" addr add 10.99.0.1/24 dev "$dev"
ip -n "$right" addr add 10.99.0.2/24 dev "$dev"
for host in "$left" "$right"; do ip -n "$host" link set "$dev" up; done

# send RESERVATION OPTIONS...
send() {
    in_left "$lull" reserve exec --net "$reserv/$dev/$1" -- "$lull" load net-transfer --protocol tcp --flows 1 --size 64KiB \
        --from "/run/netns/$left" --into "/run/netns/$right" --to 10.99.0.2 --json "${@:2}"
}

echo "| Mb/s | competing senders | reserved sender, Mb/s |"
echo "|---|---|---|"
for ((round = 0; round < rounds; round++)); do
    for rate in $rates; do
        in_left "$lull" reserve mount --net "$dev:${rate}mbit" "$reserv"
        mkdir "$reserv/$dev/r0" "$reserv/$dev/r1"
        echo "50% 50" >"$reserv/$dev/r0/share"
        echo "49% 49" >"$reserv/$dev/r1/share"
        for load in $loads; do
            for ((i = 0; i < load; i++)); do
                send r1 --seconds 60 >/dev/null 2>&1 &
                running+=($!)
            done
            sleep 2
            send r0 --warmup 500ms --seconds 1.5 >"$here/sent"
            awk -v rate="$rate" -v load="$load" -v bytes="$(sed -n 's/.*"bytes":\([0-9]*\).*/\1/p' "$here/sent")" \
                -v s="$(sed -n 's/.*"seconds":\([0-9.]*\).*/\1/p' "$here/sent")" \
                'BEGIN { printf "| %d | %d | %.2f |\n", rate, load, bytes * 8e-6 / s }'
            stop_all
        done
        unmount
    done
done
