# shellcheck shell=bash
# What the scripts of this folder share: where things are, how a virtual machine starts, is spoken to, and ends.
# Sourced, not run. Sets VM_DIR (this folder), ROOT_DIR (the source tree), CACHE (what is built or running).
#
# A running machine has a folder of its own, $RUN: ssh_config (hosts `root`, `user`, `delegated` and `other`), console.log, the process id of
# QEMU, and the disks' overlays. It is removed with the machine.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT_DIR=$(dirname "$VM_DIR")
# shellcheck disable=SC2034 # used by the scripts that source this
CACHE=${CARGO_TARGET_DIR:-$ROOT_DIR/target}/vm

# Software emulation on a loaded machine: a boot of half a minute may take five.
readonly BOOT_SECONDS=${VM_BOOT_SECONDS:-300}
RUN=
# The trap for EXIT, which ends the machine, runs then, too.
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { echo "vm: $*" >&2; }

die() {
    say "$*"
    exit 1
}

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null \
        || die "no $1: run scripts/deps.sh vm (package $2)"
}

# Prints the options of QEMU for one disk image below $1 (nothing that is written survives).
drive() { # ID FILE [FURTHER-OPTIONS]
    printf -- 'if=none,id=%s,file=%s,format=raw,snapshot=on%s' "$1" "$2" "${3:+,$3}"
}

# Starts a machine and returns when root can log in. Fails with the end of the console when it does not boot. A kernel that
# panics before anybody has logged in is started again: under emulation that happens now and then.
vm_start() { # IMAGE-DIR KERNEL CPUS MEMORY-MIB
    local try
    for try in 1 2 3; do
        start_machine "$@"
        wait_for_login "$2" && return
        grep -aq 'Kernel panic' "$RUN/console.log" || break
        say "the kernel panicked while it booted (try $try of 3): $(grep -a -m 1 -e BUG: -e Oops "$RUN/console.log")"
        vm_stop
    done
    die "no machine with kernel $2"
}

start_machine() { # IMAGE-DIR KERNEL CPUS MEMORY-MIB
    local image=$1 kernel=$2 cpus=$3 memory=$4 port
    [[ -e $image/vmlinuz-$kernel ]] || die "no kernel '$kernel'; there are: $(kernels "$image")"
    need qemu-system-x86_64 qemu-system-x86
    need ssh openssh-client
    mkdir -p "$CACHE"
    RUN=$(mktemp -d "$CACHE/run.XXXXXX")
    # The port may be taken by the time QEMU wants it: then another one.
    while true; do
        port=$((20000 + RANDOM % 12000))
        # Overlays are qcow2 files that QEMU makes below TMPDIR and unlinks at once.
        TMPDIR=$RUN qemu-system-x86_64 \
            -name lull-test-bed -machine q35 -accel tcg,thread=multi -cpu max -smp "$cpus" -m "$memory" \
            -nodefaults -no-user-config -display none -no-reboot \
            -serial "file:$RUN/console.log" \
            -kernel "$image/vmlinuz-$kernel" -initrd "$image/initrd-$kernel" \
            -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off ${VM_APPEND:-}" \
            -drive "$(drive root "$image/root.img")" -device virtio-blk-pci,drive=root \
            -drive "$(drive data "$image/data.img")" -device virtio-blk-pci,drive=data \
            -drive "$(drive swap "$image/swap.img")" -device virtio-blk-pci,drive=swap \
            -drive "$(drive nvme "$image/nvme.img")" -device nvme-subsys,id=paths,nqn=paths \
            -device nvme,id=path,serial=plain,subsys=paths -device nvme-ns,drive=nvme,bus=path,nsid=1 \
            -drive "$(drive slow "$image/slow.img" throttling.iops-total=200)" -device nvme,drive=slow,serial=slow \
            -netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=net,romfile= \
            -device virtio-rng-pci >"$RUN/qemu.log" 2>&1 &
        echo $! >"$RUN/pid"
        sleep 0.5
        kill -0 "$(<"$RUN/pid")" 2>/dev/null && break
        grep -q 'forwarding rule' "$RUN/qemu.log" || die "QEMU ended: $(<"$RUN/qemu.log")"
    done
    ssh_config "$image" "$port" >"$RUN/ssh_config"
}

kernels() { # IMAGE-DIR
    (cd "$1" && echo vmlinuz-*) | sed 's/vmlinuz-//g'
}

ssh_config() { # IMAGE-DIR PORT
    cat <<END
Host root user delegated other
    HostName 127.0.0.1
    Port $2
    IdentityFile $1/id
    IdentitiesOnly yes
    UserKnownHostsFile /dev/null
    StrictHostKeyChecking no
    LogLevel ERROR
    ControlMaster auto
    ControlPath $RUN/ssh-%n
    ControlPersist yes
    ConnectTimeout 60
    ServerAliveInterval 30
    ServerAliveCountMax 20
Host root
    User root
Host user
    User user
Host delegated
    User delegated
Host other
    User other
END
}

wait_for_login() { # KERNEL
    local began=$SECONDS
    until ssh -F "$RUN/ssh_config" -o ConnectTimeout=10 root true 2>/dev/null </dev/null; do
        if ! kill -0 "$(<"$RUN/pid")" 2>/dev/null || ((SECONDS - began > BOOT_SECONDS)); then
            tail -n 30 "$RUN/console.log" >&2
            cat "$RUN/qemu.log" >&2
            say "no login after $((SECONDS - began)) s; above: the end of its console"
            return 1
        fi
        sleep 1
    done
    say "kernel $1 is up after $((SECONDS - began)) s; also: ssh -F $RUN/ssh_config root (or: user)"
}

# Runs a command in the machine, in the login session of USER, which stays (a login takes seconds here).
vm_run() { # USER COMMAND
    ssh -F "$RUN/ssh_config" "$1" "$2"
}

vm_copy() { # FILE DEST-IN-THE-MACHINE
    scp -q -p -F "$RUN/ssh_config" "$1" "root:$2"
}

vm_stop() {
    [[ -n $RUN && -d $RUN ]] || return 0
    local pid host
    pid=$(cat "$RUN/pid" 2>/dev/null) || true
    for host in "$RUN"/ssh-*; do
        ssh -F "$RUN/ssh_config" -O exit "${host##*/ssh-}" 2>/dev/null
    done
    [[ -n $pid ]] && kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    rm -rf "$RUN"
    RUN=
}
