#!/usr/bin/env bash
# Prints everything that lull could leave behind in the machine, one thing a line, so that two calls can be compared.
# As root. Control groups, processes, BPF programs, queues, congestion controls, block schedulers, files.
set -uo pipefail
find /sys/fs/cgroup -type d -name '*lull*' | sed 's/^/group /'
grep -l 1 /sys/fs/cgroup/*/cgroup.freeze /sys/fs/cgroup/*/*/cgroup.freeze /sys/fs/cgroup/*/*/*/cgroup.freeze 2>/dev/null \
    | sed 's/^/frozen /'
pgrep -l '^lull' | sed 's/^[0-9]* /process /'
ps -eo stat=,comm= | sed -n 's/^T[^ ]* /stopped /p'
# systemd has programs of its own for the groups of its units.
bpftool -j prog list | jq -r '.[].name // "unnamed"' | grep -v '^sd_' | sort | uniq -c | sed 's/^/bpf /'
# Podman makes a bridge with its first container.
tc qdisc show | grep -v -e podman -e veth | sed 's/^/queue /'
for interface in /sys/class/net/*; do tc filter show dev "$(basename "$interface")" egress 2>/dev/null | sed 's/^/filter /'; done
sysctl -e net.ipv4.tcp_available_congestion_control net.ipv4.tcp_congestion_control vm.dirty_bytes vm.dirty_ratio \
    kernel.sched_autogroup_enabled
grep -H . /sys/block/*/queue/scheduler /sys/block/*/queue/read_ahead_kb
find /run /tmp /var/tmp /dev/shm /var/lib /home -xdev -iname '*lull*' ! -path '*/containers/*' ! -path '*/dpkg/*' | sed 's/^/file /'
exit 0
