#!/usr/bin/env bash
# Runs lull in Debian 13 (systemd, cgroup v2), as everyone who may: `make test-vm`.
#
#   vm/test.sh [--kernel stable|backports] [--write]    everything, with the .deb installed, used and purged
#   vm/test.sh --small                                  boot, doctor, one job, what is left; as root and as a user
#
#   --kernel K   which of Debian 13's kernels (default stable; see vm/run.sh)
#   --write      put the table of this run into docs/results/vm.md, too (it is always in target/vm/vm-K.md)
#
# A check that fails and is listed in vm/known-failures is told and does not fail the run. One that is listed there as
# `always` and works does: its line has to go. The status is 0 if nothing else failed.
# The small set takes target/debug/lull, the whole the package that `make deb` makes.
set -uo pipefail
# shellcheck source=vm/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=vm/surroundings.sh
. "$VM_DIR/surroundings.sh"
# shellcheck source=vm/report.sh
. "$VM_DIR/report.sh"

# How long the foreground computes or reads while it is counted.
readonly COUNTED_SECONDS=4

kernel=stable small='' write=''
while (($#)); do
    case $1 in
    --kernel) kernel=${2:?} && shift ;;
    --small) small=1 ;;
    --write) write=1 ;;
    -h | --help)
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
        exit 0
        ;;
    *) die "unknown argument '$1': see vm/test.sh --help" ;;
    esac
    shift
done

who=machine
# Lines on stdin, `CHECK|STATUS|DETAIL`, become results of $who.
record() {
    local line
    while IFS= read -r line; do
        case $line in
        *'|ok|'* | *'|FAIL|'* | *'|info|'*) echo "$who|$line" >>"$results" ;;
        *) echo "$who: $line" ;;
        esac
    done
}

note() { # CHECK ok|FAIL|info DETAIL
    echo "$who|$1|$2|$(tr -s '\n| ' ' / ' <<<"$3" | cut -c 1-300 | sed 's/ $//')" >>"$results"
}

judged() { # CHECK DETAIL CONDITION...: a condition of [[ or a command
    local check=$1 detail=$2
    shift 2
    if "$@"; then note "$check" ok "$detail"; else note "$check" FAIL "$detail"; fi
}

trace() { vm_run root /opt/vm/trace.sh; }

# What is there now and was not before. What ends by itself is given time.
left_since() { # BEFORE
    local pause left
    for pause in 0 1 3 5; do
        sleep "$pause"
        left=$(diff "$1" <(trace) | grep '^[<>]')
        [[ -z $left ]] && break
    done
    judged leftovers "$left" test -z "$left"
}

# One foreground process of another user's session, alone and beside a job of two, all on one CPU.
share() { # WHO
    local process alone seen own job where
    alone=$(vm_run other "/opt/vm/share.sh alone $COUNTED_SECONDS" </dev/null)
    vm_run root 'rm -f /opt/vm/stop/now'
    within "$1" 'lull run -q -- /opt/vm/job-of-hogs.sh /opt/vm/stop/now' </dev/null >"$RUN/job.out" 2>&1 &
    process=$!
    seen=$(vm_run other "/opt/vm/share.sh beside $COUNTED_SECONDS" </dev/null)
    vm_run root 'touch /opt/vm/stop/now' </dev/null
    wait "$process"
    vm_run root 'rm -f /opt/vm/stop/now' </dev/null
    read -r own job where <<<"$seen"
    if [[ ! $alone/$own/$job =~ ^[1-9][0-9]*/[0-9]+/[1-9][0-9]*$ ]]; then
        note counted FAIL "alone $alone, beside $seen $(<"$RUN/job.out")"
        return
    fi
    judged cpu-class "the foreground had $own% of a CPU beside the job, $alone% alone; the job $job%, on CPU ${where// /, }" \
        test $((100 * own)) -ge $((97 * alone))
}

all_checks() { # WHO
    who=$1
    say "$kernel: $(describe "$who")"
    trace >"$RUN/before"
    within "$who" "/opt/vm/who.sh ${small:+doctor job}" </dev/null 2>&1 | record
    grep -q "^$who|job|" "$results" || note job FAIL 'the checks did not run'
    [[ -n $small ]] || share "$who"
    left_since "$RUN/before"
}

# Calls that a signal ends before lull has them are made again: each program's results are those without lull.
signals() {
    who=signals
    say "$kernel: calls beside interval timers"
    cc -O2 -static -o "$CACHE/signals" "$ROOT_DIR/conformance/signals.c" || die 'no C compiler'
    vm_copy "$CACHE/signals" /opt/vm/signals
    vm_run root '/opt/vm/timers.sh /mnt/data' </dev/null 2>&1 | record
    grep -q "^$who|timer|" "$results" || note timer FAIL 'the checks did not run'
}

services() {
    who=services
    say "$kernel: services whose main process is lull"
    trace >"$RUN/before"
    vm_run root /opt/vm/service.sh </dev/null 2>&1 | record
    left_since "$RUN/before"
}

reservations() {
    who=reservations
    say "$kernel: reservations of memory, and of threads"
    trace >"$RUN/before"
    vm_run root /opt/vm/reserve.sh </dev/null 2>&1 | record
    grep -q "^$who|memory-kept|" "$results" || note memory-kept FAIL 'the checks did not run'
    left_since "$RUN/before"
}

slow_disk() {
    who=slow-nvme
    say "$kernel: the NVMe disk of 200 requests/s"
    vm_run root "/opt/vm/disks.sh slow /mnt/slow/data $COUNTED_SECONDS" </dev/null 2>&1 | record
    grep -q "^$who|requests|" "$results" || note requests FAIL 'the checks did not run'
}

# A disk whose requests are made by a hidden disk, one of its paths.
paths() {
    who=nvme-paths
    say "$kernel: the NVMe disk that may have several paths"
    vm_run root "dd if=/dev/urandom of=/mnt/nvme/data bs=1M count=32 conv=fsync status=none
        ls -d /sys/block/nvme*c*n* >/dev/null || echo 'no path'
        /opt/vm/disks.sh seen /mnt/nvme/data $COUNTED_SECONDS" </dev/null 2>&1 | record
    grep -q "^$who|seen|" "$results" || note seen FAIL 'the check did not run'
}

install_lull() {
    vm_run root 'mkdir -p /opt/vm/stop && chmod 755 /opt/vm' </dev/null
    tar -C "$VM_DIR/guest" -c . | vm_run root 'tar -C /opt/vm -x --no-same-owner'
    if [[ -n $small ]]; then
        vm_copy "$lull" /usr/bin/lull
        return
    fi
    who=package
    vm_copy "$lull" /root/lull.deb
    local said status=0
    said=$(vm_run root 'dpkg -i /root/lull.deb >&2 && rm /root/lull.deb && lull --version' 2>"$RUN/dpkg.log") || status=$?
    ((status == 0)) || said=$(<"$RUN/dpkg.log")
    judged install "$said" test "$status" -eq 0
    # shellcheck disable=SC2016 # the machine expands these
    said=$(vm_run root 'for what in man/man1/lull.1.gz man/man1/lull-run.1.gz bash-completion/completions/lull \
        zsh/vendor-completions/_lull fish/vendor_completions.d/lull.fish; do
        test -e /usr/share/$what || echo "no /usr/share/$what"; done' 2>&1)
    judged contents "$said" test -z "$said"
}

# Boots a machine with lull in it.
start() {
    local failed
    who=machine
    vm_start "$image" "$kernel" 2 2048
    note kernel info "$(vm_run root 'uname -r')"
    failed=$(vm_run root 'systemctl is-system-running --wait; systemctl --failed --plain --no-legend')
    judged boot "$failed" test "$failed" = running
    install_lull
    [[ -n $small ]] || prepare_containers
}

# One part of the tests, in a machine that runs. The emulator now and then lets a CPU run an instruction that the other one has
# patched away by then, a breakpoint, and the kernel panics: then the part is done again, in another machine. No other panic is forgiven.
part() { # COMMAND...
    local try lines
    lines=$(wc -l <"$results")
    for try in 1 2 3; do
        "$@"
        kill -0 "$(<"$RUN/pid")" 2>/dev/null && return
        cp "$RUN/console.log" "$CACHE/panic-$kernel.log"
        grep -aq 'Oops: int3' "$RUN/console.log" || die "the machine has ended in $*; its console: $CACHE/panic-$kernel.log"
        say "the emulated kernel hit a breakpoint that was gone (try $try of 3): another machine"
        vm_stop
        sed -i "$((lines + 1)),\$d" "$results"
        # What it says of the boot is known from the first one.
        results=/dev/null start
    done
    die "three machines ended in $*"
}

purge() {
    local said
    who=package
    said=$(vm_run root 'dpkg -P lull 2>&1 >/dev/null; find /usr /etc /var /run /lib -xdev -iname "*lull*" ! -name hostname' 2>&1)
    judged purge "$said" test -z "$said"
}

finish() {
    [[ -n $RUN ]] && cp "$RUN/console.log" "$CACHE/console-$kernel.log"
    vm_stop
}
trap finish EXIT

if [[ -n $small ]]; then
    cargo build --bin lull ${CI:+--locked} || exit 1
    # A fifth of the size without what only a debugger wants.
    mkdir -p "$CACHE"
    lull=$CACHE/lull
    strip -g -o "$lull" "$(dirname "$CACHE")/debug/lull" || exit 1
else
    make -s -C "$ROOT_DIR" deb || exit 1
    lull=("$(dirname "$CACHE")"/debian/lull_*.deb)
    ((${#lull[@]} == 1)) || die "one package was expected: ${lull[*]}"
fi
image=$("$VM_DIR/image.sh") || exit 1
results=$CACHE/results-$kernel
: >"$results"
start
if [[ -n $small ]]; then
    surroundings=(root-ssh user-session)
else
    surroundings=("${SURROUNDINGS[@]}")
fi
for name in "${surroundings[@]}"; do part all_checks "$name"; done
part signals
if [[ -z $small ]]; then
    part services
    part reservations
    part slow_disk
    part paths
    part purge
    table "$results" >"$CACHE/vm-$kernel.md"
    [[ -n $write ]] && write_page
fi
verdict "$results"
