#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2046,SC2002,SC1010 # expanded in the nodes; one word for each node
# Guests on a real HTCondor pool: what `make test-condor` runs. Needs root, and the package mirror the first time; twenty minutes.
#
#   condor/test.sh             all cases
#   condor/test.sh CASE ...    only these
#   condor/test.sh --list      their names
#
# Environment: LULL, as in condor/pool.sh. A pool that is up is ended first.
set -uo pipefail
# shellcheck source=condor/lib.sh
. "$(dirname "$0")/lib.sh"

readonly CASES=(grid lingers lingers_forever moves_with_state evicts pauses_and_migrates suspends owner_at_checkpoint two_slots partitionable below
    lull_killed startd_killed manager_restarts no_lull two_lulls uninstall)
readonly RUN=$CACHE/run
POOL=$CONDOR_DIR/pool.sh
failed=0 passed=0

pool() { "$POOL" "$@" </dev/null; }
manager() { pool exec cm "$@"; }
# A file of a node, as the host sees it.
file() { echo "/proc/$(<"$RUN/$1/pid")/root/$2"; } # NODE PATH

fail() {
    echo "  FAILED: $*"
    case_failed=1
}

check() { # WHAT CMD...
    local what=$1
    shift
    "$@" || fail "$what"
}

# Waits until a command succeeds.
until_true() { # SECONDS CMD...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS > end)) && return 1
        sleep 0.5
    done
}

# Installs lull on every node, with times that fit a test.
install_policy() { # POLICY
    local node
    for node in cm n1 n2 n3; do
        pool exec "$node" lull condor install --policy "$1" --busy 10% --away-after 6s --period 500ms --restart 4s --patience 3s \
            --saves-every 5s >/dev/null 2>>"$RUN/install.log" || fail "cannot install $1 on $node"
    done
    until_true 20 policy_is "$1" || fail "the pool does not have the policy $1"
    for node in n1 n2 n3; do until_true 20 publishes "$node" "$1" || fail "the publisher on $node is that of another policy"; done
    until_true 20 all_away || fail "owners do not go away"
}

policy_is() { [[ $(manager condor_status -af LullPolicy LullKnown | sort -u) == "$1 true" ]]; }
publishes() { pool exec "$1" pgrep -f "condor publish --policy $2 " >/dev/null; } # NODE POLICY
all_away() { [[ $(manager condor_status -af LullBeside | sort -u) == false ]]; }
slot_says() { [[ $(manager condor_status -constraint "Machine == \"$1.lull.test\"" -af "$2") == "$3" ]]; } # NODE ATTRIBUTE VALUE

# Hands guests in; prints the cluster's number. Their ids are CLUSTER.0 and so on.
submit() { # COUNT UNITS [CHECKPOINT] [SUBMIT-LINES] [BALLAST]
    local extra=''
    [[ ${3:-0} -gt 0 ]] && extra="checkpoint_exit_code = 85"$'\n'"transfer_checkpoint_files = state${5:+, ballast}"
    cp "$CONDOR_DIR/guest.sh" "$(file cm home/guest/guest.sh)"
    cat >"$(file cm home/guest/guest.sub)" <<END
executable = guest.sh
arguments = \$(Cluster).\$(Process) $2 ${3:-0} ${5:-}
output = out.\$(Cluster).\$(Process)
error = err.\$(Cluster).\$(Process)
log = log.\$(Cluster)
should_transfer_files = YES
$extra
${4:-}
queue $1
END
    local cluster
    cluster=$(pool guest sh -c 'cd && condor_submit -terse guest.sub' 2>"$RUN/submit.log" | sed 's/\..*//')
    [[ -n $cluster ]] || die "HTCondor does not take the guests: $(<"$RUN/submit.log")"
    echo "$cluster"
}

running() { [[ $(manager condor_q -allusers -constraint "ClusterId == $1 && JobStatus == 2" -af ProcId | wc -l) -eq $2 ]]; } # CLUSTER COUNT
where() { manager condor_q -allusers "$1" -af RemoteHost | sed 's/.*@//; s/\..*//'; } # JOB
# How many events of a kind the guest's log has: 001 executing, 004 evicted, 005 ended, 010 suspended, 011 resumed.
events() { grep -c "^$2 (" "$(file cm "home/guest/log.$1")"; } # CLUSTER EVENT
has_lines() { [[ $(wc -l 2>/dev/null <"$2") -ge $1 ]]; } # COUNT FILE
has_events() { (($(events "$1" "$2") >= $3)); }
all_done() { [[ -z $(manager condor_q -allusers -af ClusterId) ]]; }

# The guest on a node, by its number in the cluster; and the one that was there, by what it wrote.
guest_on() { manager condor_q -allusers -constraint "ClusterId == $1" -af ProcId RemoteHost | sed -n "s/ .*@$2\\..*//p"; } # CLUSTER NODE
guest_on_before() { find "$(file "$2" home/guest)/" -name "mark-$1.*.begun" | sed 's/.*\.\([0-9]*\)\.begun/\1/'; } # CLUSTER NODE
# Which of so many guests do nothing for two seconds.
standing() { # CLUSTER COUNT
    local id before=()
    for ((id = 0; id < $2; id++)); do before+=("$(guest_at "$1.$id")"); done
    sleep 2
    for ((id = 0; id < $2; id++)); do [[ $(guest_at "$1.$id") == "${before[id]}" ]] && echo "$id"; done
}
# Whether the first events of these kinds came one after the other, for one guest of the cluster.
in_order() { # CLUSTER ID EVENT...
    local event line last=0 id
    id=$(printf '%03d' "$2")
    for event in "${@:3}"; do
        line=$(grep -n "^$event ($(printf '%03d' "$1").$id." "$(file cm "home/guest/log.$1")" | head -n 1 | cut -d : -f 1)
        [[ -n $line && $line -gt $last ]] || return 1
        last=$line
    done
}
# From which pieces a guest began, in the order of time on all nodes.
begun_in_order() { # JOB
    local node
    for node in n1 n2 n3; do cat "$(file "$node" "home/guest/mark-$1.begun")" 2>/dev/null; done | sort -n | xargs
}
gets_on() { (($(guest_at "$1") > $2)); } # JOB PIECES
age_is() { (($(manager condor_status -constraint "Machine == \"$1.lull.test\"" -af 'int(LullAge)') >= $2)); } # NODE SECONDS

# Every guest was done, and none twice.
done_once() { # CLUSTER COUNT
    local id count
    for ((id = 0; id < $2; id++)); do
        count=$(cat $(marks "$1.$id" done) 2>/dev/null | wc -l)
        [[ $count -eq 1 ]] || fail "guest $1.$id was done $count times"
    done
    check "an end is reported for each guest" test "$(events "$1" 005)" -eq "$2"
}

# An owner who computes, a tenth of a second of each third, for so long.
owner() { # NODE SECONDS
    pool exec "$1" timeout "$2" sh -c 'while :; do i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.2; done' &
}

# What a guest wrote on the nodes on which it was.
marks() { # JOB KIND
    local node
    for node in n1 n2 n3; do file "$node" "home/guest/mark-$1.$2"; done
}
has_front() { pool exec "$1" pgrep -f 'condor guest --quiet' >/dev/null; } # NODE
is_running() { manager condor_q -allusers -constraint "ClusterId == $1 && JobStatus == 2" -af RemoteHost | grep -q "@$2\\."; } # CLUSTER NODE
guest_at() { cat $(marks "$1" at) 2>/dev/null | sort -n | tail -n 1; } # JOB

case_grid() {
    LULL_CONDOR_POOL=$POOL cargo_test --test condor_grid -- --nocapture || fail "HTCondor decides otherwise than the policy"
}

# With no place elsewhere, guests stay beside owners, and get on.
case_lingers() {
    local cluster before
    install_policy linger-longer
    cluster=$(submit 3 120)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    owner n1 10
    until_true 8 slot_says n1 LullBeside true || fail "the owner is not seen"
    before=$(guest_at "$cluster.0")
    sleep 3
    check "a guest gets on beside an owner" test "$(guest_at "$cluster.0")" -gt "${before:-0}"
    check "status shows it" grep -q 'at work' <(manager lull condor status)
    check "it runs under lull" grep -q . <(pool exec n1 sh -c 'cat /proc/[0-9]*/comm' | grep -x lull)
    until_true 400 all_done || fail "guests are not done"
    check "nobody was sent away" test "$(events "$cluster" 004)" -eq 0
    done_once "$cluster" 3
}

# With places elsewhere, a guest that saves itself moves when lingering has cost enough, and goes on from its state.
case_moves_with_state() {
    local cluster first second begun
    install_policy linger-longer
    cluster=$(submit 1 700 100 '+LullSavesEvery = 3')
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 1 || fail "the guest does not start"
    first=$(where "$cluster.0")
    # Its second beginning: it has a checkpoint to lose nothing from.
    until_true 60 has_lines 2 "$(file "$first" "home/guest/mark-$cluster.0.begun")" || fail "the guest does not save itself"
    # The owner takes all of the CPU.
    pool exec "$first" timeout 30 sh -c 'while :; do :; done' &
    until_true 40 has_events "$cluster" 004 1 || fail "the guest does not move: $(manager lull condor status)"
    until_true 30 running "$cluster" 1 || fail "it does not start again"
    second=$(where "$cluster.0")
    check "it moved away from $first" test "$second" != "$first"
    until_true 60 has_lines 1 "$(file "$second" "home/guest/mark-$cluster.0.begun")" || fail "it does not begin on $second"
    begun=$(head -n 1 "$(file "$second" "home/guest/mark-$cluster.0.begun")")
    check "it goes on from its state on $second (from $begun)" test "${begun:-0}" -gt 0
    until_true 400 all_done || fail "the guest is not done"
    done_once "$cluster" 1
    kill %% 2>/dev/null
}

case_evicts() {
    local cluster
    install_policy immediate-eviction
    cluster=$(submit 3 60)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    owner n2 15
    until_true 15 has_events "$cluster" 004 1 || fail "nobody is evicted"
    check "only from the owner's node" test "$(events "$cluster" 004)" -eq 1
    check "no guest starts beside an owner" running "$cluster" 2
    until_true 400 all_done || fail "guests are not done"
    done_once "$cluster" 3
}

case_suspends() {
    local cluster
    install_policy suspend-in-place
    cluster=$(submit 3 60)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    owner n3 6
    until_true 15 has_events "$cluster" 010 1 || fail "nobody is suspended"
    check "only the guest on n3 stands still" test "$(standing "$cluster" 3)" = "$(guest_on "$cluster" n3)"
    until_true 30 has_events "$cluster" 011 1 || fail "it is not resumed"
    until_true 400 all_done || fail "guests are not done"
    check "it was suspended, then resumed, then done" in_order "$cluster" "$(guest_on_before "$cluster" n3)" 010 011 005
    check "nobody was sent away" test "$(events "$cluster" 004)" -eq 0
    done_once "$cluster" 3
}

# A guest that cannot be moved stays, although a place is free and the owner takes all of the CPU.
case_lingers_forever() {
    local cluster node before
    install_policy linger-forever
    cluster=$(submit 1 500)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 1 || fail "the guest does not start"
    node=$(where "$cluster.0")
    pool exec "$node" timeout 25 sh -c 'while :; do :; done' &
    until_true 10 slot_says "$node" LullBeside true || fail "the owner is not seen"
    # Linger-longer moves long before that: a move costs 4 s, and what the guest has done.
    until_true 40 age_is "$node" 18 || fail "the owner does not stay"
    check "it lingers" slot_says "$node" LullDecision linger
    check "a place is free elsewhere" test "$(manager condor_status -constraint 'State == "Unclaimed" && !LullBeside' -af Name | wc -l)" -gt 0
    check "it is where it was" test "$(where "$cluster.0")" = "$node"
    wait %% 2>/dev/null
    before=$(guest_at "$cluster.0")
    until_true 20 gets_on "$cluster.0" "${before:-0}" || fail "the guest does not get on"
    until_true 400 all_done || fail "the guest is not done"
    check "nobody was sent away, or suspended" test "$(($(events "$cluster" 004) + $(events "$cluster" 010)))" -eq 0
    check "it began once" test "$(events "$cluster" 001)" -eq 1
    done_once "$cluster" 1
}

# Suspended when the owner comes, sent away when he stays and a place is free; resumed in place when he goes, if none is.
case_pauses_and_migrates() {
    local cluster first second
    install_policy pause-and-migrate
    cluster=$(submit 1 400 40)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 1 || fail "the guest does not start"
    first=$(where "$cluster.0")
    until_true 60 has_lines 2 "$(file "$first" "home/guest/mark-$cluster.0.begun")" || fail "the guest does not save itself"
    owner "$first" 40
    until_true 40 has_events "$cluster" 004 1 || fail "the guest does not move: $(manager lull condor status)"
    check "it was suspended first" in_order "$cluster" 0 010 004
    until_true 40 running "$cluster" 1 || fail "it does not start again"
    second=$(where "$cluster.0")
    check "it moved away from $first" test "$second" != "$first"
    until_true 30 has_lines 1 "$(file "$second" "home/guest/mark-$cluster.0.begun")" || fail "it does not begin on $second"
    check "it goes on from its state" test "$(head -n 1 "$(file "$second" "home/guest/mark-$cluster.0.begun")")" -gt 0
    kill %% 2>/dev/null
    until_true 400 all_done || fail "the guest is not done"
    done_once "$cluster" 1

    until_true 20 all_away || fail "owners do not go away"
    cluster=$(submit 3 400)
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    owner n1 12
    until_true 15 has_events "$cluster" 010 1 || fail "nobody is suspended"
    until_true 40 has_events "$cluster" 011 1 || fail "it is not resumed"
    check "without a place nobody was sent away" test "$(events "$cluster" 004)" -eq 0
    until_true 400 all_done || fail "guests are not done"
    done_once "$cluster" 3
}

# The owner comes while the guest's checkpoint is on its way, at several moments of it: what it had saved before stays, and it is done once.
case_owner_at_checkpoint() {
    local cluster id node begun owners=() ballast=300
    install_policy immediate-eviction
    cluster=$(submit 3 90 30 '' "$ballast")
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    for id in 0 1 2; do
        node=$(where "$cluster.$id")
        # Each somewhat later: before, in, and after the transfer.
        (
            until_true 60 has_lines 1 "$(file "$node" "home/guest/mark-$cluster.$id.saving")" || exit 1
            sleep "$id"
            owner "$node" 8
            wait
        ) &
        owners+=($!)
    done
    for id in "${owners[@]}"; do wait "$id" || fail "a guest does not save itself"; done
    until_true 400 all_done || fail "guests are not done: $(manager condor_q -allusers)"
    done_once "$cluster" 3
    check "an eviction is reported" test "$(events "$cluster" 004)" -ge 1
    for id in 0 1 2; do
        # What it begins from never becomes less but where nothing was saved yet.
        begun=$(begun_in_order "$cluster.$id")
        check "guest $id begins from 0, or from what it saved: $begun" grep -Eq '^(0 )+((30 )+(60 )*)?$' <<<"$begun "
    done
}

# Two slots on a node of two CPUs: with its owner, and his guests.
slots() { # NODE LINES...
    local node=$1
    shift
    printf '%s\n' "$@" >"$(file "$node" etc/condor/config.d/40-slots.conf)"
    pool exec "$node" condor_restart -fast -daemon startd >/dev/null
}

one_slot_again() { # NODE
    rm -f "$(file "$1" etc/condor/config.d/40-slots.conf)"
    pool exec "$1" condor_restart -fast -daemon startd >/dev/null
    until_true 40 has_slots "$1" 1 || fail "$1 does not have one slot again"
}

has_slots() { [[ $(manager condor_status -constraint "Machine == \"$1.lull.test\"" -af LullKnown | grep -c true) -eq $2 ]]; } # NODE COUNT
guests_on() { [[ $(manager condor_q -allusers -constraint "ClusterId == $1 && JobStatus == 2" -af RemoteHost | grep -c "@$2\\.") -eq $3 ]]; } # CLUSTER NODE COUNT

# An owner who leaves one CPU for two guests, and one place elsewhere: one of them goes, the other stays.
one_of_two_moves() { # CLUSTER
    local node=n3 cluster=$1 left
    until_true 60 guests_on "$cluster" $node 2 || fail "two guests do not start on $node: $(manager condor_status -af Name State Cpus)"
    until_true 15 counts n3 2 || fail "they are not both counted"
    until_true 20 slot_says n2 LullBeside false || fail "the owner of n2 does not go away"
    pool exec $node timeout 120 sh -c 'while :; do :; done' &
    until_true 60 has_events "$cluster" 004 1 || fail "nobody moves: $(manager lull condor status)"
    until_true 40 guests_on "$cluster" $node 1 || fail "not one guest is on $node: $(manager condor_q -allusers -af ProcId JobStatus RemoteHost)"
    left=$(events "$cluster" 004)
    # Long enough for another to go, if it wanted to.
    sleep 10
    check "one went, and one stays" test "$left $(events "$cluster" 004)" = "1 1"
    check "it is still there" guests_on "$cluster" "$node" 1
    owners_leave
    until_true 400 all_done || fail "guests are not done: $(manager condor_q -allusers)"
    done_once "$cluster" 2
}
counts() { [[ $(manager condor_status -constraint "Machine == \"$1.lull.test\" && LullGuests isnt undefined" -af LullGuests | sort -u) == "$2" ]]; } # NODE GUESTS

# So that guests start on n3, and one of them has a place, soon after, on n2.
others_at_work() {
    local node
    owner n1 150
    owner n2 6
    for node in n1 n2; do until_true 10 slot_says $node LullBeside true || fail "the owner of $node is not seen"; done
}
owners_leave() { for node in n1 n2 n3; do pool exec "$node" pkill -f 'while :' >/dev/null; done; }

case_two_slots() {
    local cluster
    install_policy linger-longer
    slots n3 'NUM_CPUS = 2' 'NUM_SLOTS = 2' 'NUM_SLOTS_TYPE_1 = 2' 'SLOT_TYPE_1 = 50%'
    until_true 40 has_slots n3 2 || fail "n3 does not have two slots"
    others_at_work
    cluster=$(submit 2 900 60 '+LullSavesEvery = 3')
    [[ -n $cluster ]] && one_of_two_moves "$cluster"
    one_slot_again n3
}

# The same with one slot of two CPUs that is divided as guests need it.
case_partitionable() {
    local cluster
    install_policy linger-longer
    slots n3 'NUM_CPUS = 2' 'SLOT_TYPE_1 = 100%' 'SLOT_TYPE_1_PARTITIONABLE = True'
    until_true 40 has_slots n3 1 || fail "n3 does not have a slot"
    others_at_work
    cluster=$(submit 2 900 60 $'+LullSavesEvery = 3\nrequest_cpus = 1\nrequest_memory = 64')
    [[ -n $cluster ]] && one_of_two_moves "$cluster"
    one_slot_again n3
}

# HTCondor's service weighs as much as its owner's session. Its guests do not.
case_below() {
    local cluster group=/sys/fs/cgroup/cpu/lull-guests
    pool exec n1 test -d /sys/fs/cgroup/cpu || { echo "  SKIPPED: the cpu controller is not in a v1 tree of its own here"; return; }
    install_policy linger-forever
    cluster=$(submit 3 150)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    until_true 15 below n1 || fail "guests are not in a group of their own at the top: $(pool exec n1 sh -c 'cat /proc/$(pgrep -o -f guest.sh)/cgroup')"
    check "it is idle" test "$(pool exec n1 cat $group/cpu.idle)" = 1
    check "HTCondor's own daemons are not in it" test -z "$(pool exec n1 sh -c "cat $group/cgroup.procs | xargs -I% cat /proc/%/comm 2>/dev/null | grep condor_")"
    until_true 15 all_below || fail "it is not published: $(manager condor_status -af LullBelow)"
    check "doctor tells" grep -q 'everybody comes first' <(pool exec n1 lull doctor)
    pool exec n1 pkill -KILL -f 'condor below' || fail "there is no helper"
    until_true 30 has_helper n1 || fail "HTCondor does not start it again"
    check "guests are where they were" below n1
    # Without it.
    pool exec n2 lull condor install --policy linger-forever --keep-groups --busy 10% --away-after 6s --period 500ms >/dev/null 2>&1
    until_true 30 lacks_helper n2 || fail "the helper runs on although it was not wanted"
    until_true 15 not_below n2 || fail "guests are not put back"
    check "doctor tells of it" grep -q 'idle among' <(pool exec n2 lull doctor)
    until_true 400 all_done || fail "guests are not done"
    done_once "$cluster" 3
}

group_of_guest() { pool exec "$1" sh -c 'cat /proc/$(pgrep -o -f guest.sh)/cgroup' | sed -n 's/.*:cpu://p'; } # NODE
below() { [[ $(group_of_guest "$1") == /lull-guests ]]; }
not_below() { [[ $(group_of_guest "$1") == /system.slice/condor.service ]]; }
all_below() { [[ $(manager condor_status -constraint 'JobId isnt undefined' -af LullBelow | sort -u) == everybody ]]; }
has_helper() { [[ -n $(pool exec "$1" pgrep -f 'condor below') ]]; }
lacks_helper() { ! has_helper "$1"; }

# Whatever of lull is killed, the guest is done, or its end by that signal is reported.
case_lull_killed() {
    local cluster pid node victims
    install_policy linger-forever
    cluster=$(submit 2 300)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 2 || fail "guests do not start"
    pool exec n1 pkill -KILL -f 'condor publish' || fail "there is no publisher"
    for node in n1 n2 n3; do
        # The helpers: to HTCondor the front is the guest.
        is_running "$cluster" "$node" || continue
        until_true 15 has_front "$node" || fail "the guest on $node is not under lull"
        victims=$(pool exec "$node" pgrep '^lull-(superv|guard)')
        # shellcheck disable=SC2086 # one word each
        if [[ -n $victims ]]; then pool exec "$node" kill -KILL $victims; else fail "no helpers on $node: $(pool exec "$node" ps -eo pid,ppid,comm | grep lull)"; fi
        check "the guest on $node stays at low priority" test "$(pool exec "$node" sh -c 'cut -d " " -f 41 /proc/$(pgrep -x guest.sh)/stat')" = 5
    done
    until_true 400 all_done || fail "guests are not done"
    done_once "$cluster" 2
    until_true 20 slot_says n1 LullKnown true || fail "the publisher is not started again"
    cluster=$(submit 1 400)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 1 || fail "the guest does not start"
    pid=$(where "$cluster.0")
    until_true 15 has_front "$pid" || fail "there is no front"
    pool exec "$pid" pkill -KILL -o -f 'condor guest --quiet'
    until_true 30 has_events "$cluster" 005 1 || fail "the end is not reported"
    check "by its signal" grep -q 'Abnormal termination (signal 9)' "$(file cm "home/guest/log.$cluster")"
    check "no process of it is left" test -z "$(pool exec "$pid" pgrep -f guest.sh)"
}

case_startd_killed() {
    local cluster node
    install_policy linger-longer
    cluster=$(submit 2 100)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 2 || fail "guests do not start"
    node=$(where "$cluster.0")
    pool exec "$node" pkill -KILL -x condor_startd || fail "no startd"
    until_true 400 all_done || fail "guests are not done: $(manager condor_q -allusers)"
    done_once "$cluster" 2
    check "no guest is left" test -z "$(pool exec "$node" pgrep -f guest.sh)"
    until_true 60 policy_is linger-longer || fail "the node does not come back"
}

case_manager_restarts() {
    local cluster
    install_policy linger-longer
    cluster=$(submit 3 80)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    manager pkill -KILL -x 'condor_collecto' || fail "no collector"
    manager pkill -KILL -x 'condor_negotiat' || fail "no negotiator"
    manager pkill -KILL -x condor_schedd || fail "no schedd"
    sleep 3
    until_true 60 policy_is linger-longer || fail "the nodes are not known again"
    until_true 400 all_done || fail "guests are not done: $(manager condor_q -allusers)"
    done_once "$cluster" 3
}

# Without lull a guest runs all the same, at low priority.
case_no_lull() {
    local cluster node
    install_policy linger-forever
    for node in n1 n2 n3; do mv "$(file "$node" usr/local/bin/lull)" "$(file "$node" usr/local/bin/away)"; done
    cluster=$(submit 3 40)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    sleep 1
    check "in the idle class" test "$(pool exec n1 sh -c 'cut -d " " -f 41 /proc/$(pgrep -o -f guest.sh)/stat')" -eq 5
    until_true 400 all_done || fail "guests are not done"
    for node in n1 n2 n3; do mv "$(file "$node" usr/local/bin/away)" "$(file "$node" usr/local/bin/lull)"; done
    done_once "$cluster" 3
}

# An owner who uses lull himself, and a configuration of lull that is wrong: the guest runs.
case_two_lulls() {
    local cluster node
    install_policy linger-longer
    for node in n1 n2 n3; do
        mkdir -p "$(file "$node" etc/lull)"
        echo 'nonsense = 1' >"$(file "$node" etc/lull/lull.toml)"
    done
    cluster=$(submit 1 20)
    until_true 400 all_done || fail "the guest is not done"
    check "it is said" grep -q 'without lull' "$(file cm "home/guest/err.$cluster.0")"
    done_once "$cluster" 1
    for node in n1 n2 n3; do rm -r "$(file "$node" etc/lull)"; done
    cluster=$(submit 3 60)
    [[ -n $cluster ]] || return
    until_true 30 running "$cluster" 3 || fail "guests do not start"
    pool exec n1 timeout 60 lull run --quiet -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' || fail "the owner's lull fails"
    until_true 400 all_done || fail "guests are not done"
    done_once "$cluster" 3
}

case_uninstall() {
    local before after cluster
    for node in cm n1 n2 n3; do pool exec "$node" lull condor uninstall >/dev/null 2>&1; done
    before=$(etc_of n1)
    install_policy linger-longer
    pool exec n1 lull doctor | grep -q 'installed: linger-longer' || fail "doctor does not tell"
    for node in cm n1 n2 n3; do pool exec "$node" lull condor uninstall >/dev/null || fail "uninstall"; done
    after=$(etc_of n1)
    check "the configuration is as it was" test "$before" = "$after"
    until_true 30 no_publisher || fail "a publisher runs on"
    until_true 30 lacks_helper n1 || fail "HTCondor's master still runs lull"
    cluster=$(submit 3 10)
    until_true 400 all_done || fail "guests are not done"
    done_once "$cluster" 3
    check "lull is gone" test -z "$(pool exec n1 pgrep -x lull)"
}

etc_of() { pool exec "$1" sh -c 'cd /etc/condor && find . -type f -exec cksum {} + | sort; condor_config_val START PREEMPT SUSPEND CONTINUE DAEMON_LIST; find /sys/fs/cgroup -name "lull-*"'; }
no_publisher() { [[ -z $(pool exec n1 pgrep -f 'condor publish') ]]; }

cargo_test() { (cd "$ROOT_DIR" && ${CONDOR_CARGO:-cargo test --release} -p lull "$@"); }

wanted=("$@")
[[ ${1:-} == --list ]] && printf '%s\n' "${CASES[@]}" && exit 0
((${#wanted[@]})) || wanted=("${CASES[@]}")
for name in "${wanted[@]}"; do
    declare -F "case_$name" >/dev/null || die "no case '$name'; there are: ${CASES[*]}"
done
: "${LULL:=${CARGO_TARGET_DIR:-$ROOT_DIR/target}/release/lull}"
export LULL
[[ -x $LULL ]] || die "no $LULL: make, or name it with LULL"
pool down
pool up || exit 1
trap 'pool down' EXIT
for name in "${wanted[@]}"; do
    began=$SECONDS case_failed=0
    echo "== $name"
    "case_$name"
    pool guest condor_rm -all >/dev/null 2>&1
    ((case_failed)) && failed=$((failed + 1)) || passed=$((passed + 1))
    printf '== %-18s %s  %d s\n' "$name" "$( ((case_failed)) && echo FAILED || echo ok)" $((SECONDS - began))
done
echo "$passed passed, $failed failed"
((failed == 0))
