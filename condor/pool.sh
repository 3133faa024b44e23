#!/usr/bin/env bash
# A real HTCondor pool on this machine: a central manager and three execute nodes, each in namespaces of its own.
#
#   condor/pool.sh up              make it, and return when the nodes are in the collector
#   condor/pool.sh down            end it; nothing of it stays but the root directory in target/condor
#   condor/pool.sh status          what is up
#   condor/pool.sh exec NODE CMD   run CMD as root on cm, n1, n2 or n3
#   condor/pool.sh guest CMD       run CMD as the user `guest` on cm, from where guests are submitted
#   condor/pool.sh pid NODE        the process id of the node's init, for nsenter(1)
#
# A node has its own file tree (an overlay over one root directory), network, host name and process ids, and is confined to CPUs: n1 to
# the first, n2 to the last, n3 and cm to all. With fewer CPUs than nodes, nodes share some: what one of them computes is missing on the
# other. All nodes see one tree of the cpu controller, as systemd would lay it out: HTCondor in system.slice/condor.service, what `exec` runs in
# user.slice. It is one tree so that whose idle group is below everybody's on one node is so on the others, whose CPUs are the same.
#
# Environment: LULL, the program that is copied into the nodes (default target/release/lull, or none).
# Needs root. One pool at a time.
set -euo pipefail
# shellcheck source=condor/lib.sh
. "$(dirname "$0")/lib.sh"

readonly NODES=(cm n1 n2 n3)
readonly RUN=$CACHE/run
readonly NET=10.99.7
readonly GROUP=lull-condor
readonly V1=/sys/fs/cgroup
readonly UP_SECONDS=60

netns() { echo "lull-condor-$1"; }

address() { # NODE
    case $1 in cm) echo "$NET.1" ;; *) echo "$NET.1${1#n}" ;; esac
}

# The control groups in which a node lives, as far as this machine has those controllers in a tree of their own.
groups() { # NODE
    [[ -d $V1/cpu ]] && echo "$V1/cpu/$GROUP"
    [[ -d $V1/cpuset ]] && echo "$V1/cpuset/$GROUP-$1"
    return 0
}

cpus() { # NODE
    local all first last
    all=$(<"$V1/cpuset/cpuset.cpus")
    first=${all%%[-,]*}
    last=${all##*[-,]}
    case $1 in n1) echo "$first" ;; n2) echo "$last" ;; *) echo "$all" ;; esac
}

readonly SERVICE=system.slice/condor.service SESSION=user.slice

make_groups() { # NODE
    local group
    for group in $(groups "$1"); do
        mkdir -p "$group"
        if [[ $group != "$V1"/cpuset/* ]]; then
            mkdir -p "$group/$SERVICE" "$group/$SESSION"
            continue
        fi
        cat "$V1/cpuset/cpuset.mems" >"$group/cpuset.mems"
        cpus "$1" >"$group/cpuset.cpus"
    done
}

node_pid() { # NODE
    [[ -e $RUN/$1/pid ]] || die "no node $1 is up; condor/pool.sh up"
    cat "$RUN/$1/pid"
}

# Goes on as a process of the node, in its namespaces and in this group of it.
enter_group() { # GROUP NODE CMD...
    local node=$2 pid group
    pid=$(node_pid "$node")
    for group in $(groups "$node"); do
        [[ $group == "$V1"/cpuset/* ]] || group+=/$1
        echo $BASHPID >"$group/cgroup.procs"
    done
    shift 2
    exec nsenter --target "$pid" --mount --uts --net --pid --cgroup --root env -i -C / \
        PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LANG=C.UTF-8 "$@"
}

enter() { enter_group "$SESSION" "$@"; } # NODE CMD...

make_network() {
    local node ns
    for node in "${NODES[@]}"; do
        ns=$(netns "$node")
        ip netns add "$ns"
        ip -n "$ns" link set lo up
    done
    ns=$(netns cm)
    ip -n "$ns" link add pool type bridge
    ip -n "$ns" addr add "$(address cm)/24" dev pool
    ip -n "$ns" link set pool up
    for node in "${NODES[@]:1}"; do
        ip -n "$ns" link add "to-$node" type veth peer name pool netns "$(netns "$node")"
        ip -n "$ns" link set "to-$node" master pool up
        ip -n "$(netns "$node")" addr add "$(address "$node")/24" dev pool
        ip -n "$(netns "$node")" link set pool up
    done
}

# The node's files: what differs from the root directory.
make_files() { # NODE
    local upper=$RUN/$1/upper node config=execute
    mkdir -p "$RUN/$1"/{upper,work,root} "$upper"/etc/condor/{config.d,passwords.d} "$upper"/usr/local/bin
    chmod 700 "$upper/etc/condor/passwords.d"
    install -m 600 "$RUN/key" "$upper/etc/condor/passwords.d/POOL"
    echo "127.0.0.1 localhost" >"$upper/etc/hosts"
    for node in "${NODES[@]}"; do echo "$(address "$node") $node.lull.test $node"; done >>"$upper/etc/hosts"
    echo "$1" >"$upper/etc/hostname"
    [[ $1 == cm ]] && config=central
    cp "$CONDOR_DIR/config/common.conf" "$upper/etc/condor/config.d/10-common.conf"
    cp "$CONDOR_DIR/config/$config.conf" "$upper/etc/condor/config.d/20-role.conf"
    echo "NETWORK_INTERFACE = $(address "$1")" >"$upper/etc/condor/config.d/30-address.conf"
    if [[ -x $LULL ]]; then install -m 755 "$LULL" "$upper/usr/local/bin/lull"; fi
}

# Starts the node's init in namespaces of its own. Of control groups it has the cpu controller only.
boot() { # NODE ROOT
    local dir=$RUN/$1 group pid
    (
        for group in $(groups "$1"); do echo $BASHPID >"$group/cgroup.procs"; done
        # shellcheck disable=SC2016 # expanded inside
        exec nsenter --net="/run/netns/$(netns "$1")" setsid unshare --mount --uts --pid --cgroup --fork --kill-child \
            bash -euc '
                node=$1 dir=$2 lower=$3
                mount --make-rprivate /
                mount -t overlay overlay -o "lowerdir=$lower,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
                mount -t proc proc "$dir/root/proc"
                mount -t sysfs -o ro sysfs "$dir/root/sys"
                if [[ -d /sys/fs/cgroup/cpu ]]; then
                    mount -t tmpfs -o mode=755 tmpfs "$dir/root/sys/fs/cgroup"
                    mkdir "$dir/root/sys/fs/cgroup/cpu"
                    mount -t cgroup -o cpu cgroup "$dir/root/sys/fs/cgroup/cpu"
                fi
                # Devices without terminals: nobody types here.
                mount -t tmpfs -o mode=755 tmpfs "$dir/root/dev"
                for device in null zero full random urandom; do
                    touch "$dir/root/dev/$device"
                    mount --bind "/dev/$device" "$dir/root/dev/$device"
                done
                mkdir -m 1777 "$dir/root/dev/shm"
                ln -s /proc/self/fd "$dir/root/dev/fd"
                mount -t tmpfs tmpfs "$dir/root/run"
                mount -t tmpfs tmpfs "$dir/root/tmp"
                chmod 1777 "$dir/root/tmp"
                mkdir -p "$dir/root/run/lock"
                hostname "$node"
                exec chroot "$dir/root" tini -s -- sleep infinity' - "$1" "$dir" "$2"
    ) </dev/null >"$dir/boot.log" 2>&1 &
    local unshare=$!
    for _ in {1..200}; do
        pid=$(pgrep -P "$unshare" -x tini) && break
        kill -0 "$unshare" 2>/dev/null || break
        sleep 0.05
    done
    [[ -n ${pid:-} ]] || die "node $1 does not start: $(<"$dir/boot.log")"
    echo "$unshare" >"$dir/unshare"
    echo "$pid" >"$dir/pid"
}

start_condor() { # NODE
    (enter_group "$SERVICE" "$1" bash -euc '
        install -d -o condor -g condor /run/condor /run/lock/condor
        exec condor_master') </dev/null >>"$RUN/$1/boot.log" 2>&1 || die "no condor_master on $1: $(<"$RUN/$1/boot.log")"
}

# How many execute nodes the collector knows.
known() {
    (enter cm condor_status -af Name 2>/dev/null </dev/null || true) | wc -l
}

up() {
    local node root began=$SECONDS
    [[ -d $RUN ]] && die "a pool is up, or was left; condor/pool.sh down"
    root=$(root_dir)
    mkdir -p "$RUN"
    trap 'say "not up"; down' EXIT
    head -c 64 /dev/urandom | base64 -w 0 >"$RUN/key"
    make_network
    for node in "${NODES[@]}"; do
        make_groups "$node"
        make_files "$node"
        boot "$node" "$root"
        start_condor "$node"
    done
    until [[ $(known) -eq 3 ]]; do
        ((SECONDS - began > UP_SECONDS)) && die "the collector knows $(known) of 3 nodes after $UP_SECONDS s; logs: $RUN/*/upper/var/log/condor"
        sleep 0.5
    done
    trap - EXIT
    say "up after $((SECONDS - began)) s"
}

down() {
    local node group pid
    for node in "${NODES[@]}"; do
        if pid=$(cat "$RUN/$node/pid" 2>/dev/null); then
            # With its init, all processes of a node end.
            kill -KILL "$pid" 2>/dev/null || true
            while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
        fi
        ip netns del "$(netns "$node")" 2>/dev/null || true
    done
    for node in "${NODES[@]}"; do
        for group in $(groups "$node"); do
            [[ -d $group ]] || continue
            find "$group" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || true
            for _ in {1..50}; do rmdir "$group" 2>/dev/null && break; sleep 0.05; done
        done
    done
    rm -rf "$RUN"
}

status() {
    local node
    if [[ ! -d $RUN ]]; then
        echo "no pool is up"
        return
    fi
    for node in "${NODES[@]}"; do
        printf '%s  %-10s  CPUs %-5s  init %s\n' "$node" "$(address "$node")" "$(cpus "$node")" "$(node_pid "$node")"
    done
    (enter cm condor_status </dev/null) || true
    (enter cm condor_q -allusers </dev/null) || true
}

((EUID == 0)) || die "root is needed, for namespaces and for the users of the pool"
: "${LULL:=${CARGO_TARGET_DIR:-$ROOT_DIR/target}/release/lull}"
case ${1:-} in
up) up ;;
down) down ;;
status) status ;;
pid) node_pid "${2:?NODE}" ;;
exec) enter "${@:2}" ;;
guest) enter cm setpriv --reuid guest --regid guest --init-groups env HOME=/home/guest USER=guest "${@:2}" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
