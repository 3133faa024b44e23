#!/usr/bin/env bash
# Runs lull as whoever calls this, and tells what came of it: one line per check, `CHECK|ok or FAIL|what was seen`.
#
#   who.sh [CHECK ...]    default: all of them
#
# Runs inside the virtual machine, in each of the surroundings of vm/surroundings.sh. It asserts results and
# states, never how long something took.
set -uo pipefail
# shellcheck source=vm/guest/result.sh
. "$(dirname "$0")/result.sh"
dir=$(mktemp -d "${VM_TMP:-$HOME}/vm-who.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# What the doctor says is in use: sensor, gates, the CPUs; one line of the table each.
check_doctor() {
    local status=0 section in_use
    lull doctor --json >doctor.json 2>doctor.err || status=$?
    ((status == 0)) && jq -e .facts doctor.json >/dev/null || status=1
    lull doctor >doctor.txt 2>>doctor.err || status=$?
    result doctor "$status" "status $status $(<doctor.err)"
    for section in Sensor 'Request gate' 'Hold gate' CPUs; do
        in_use=$(sed -n "/^$section/,/^\$/p" doctor.txt | sed -n '/^  in use/,/^  [^ ]/p' \
            | sed -n '1p;2,${/^    /!q;p}' | sed 's/^  in use *//' | tr -s ' \n' ' ')
        printf 'doctor: %s|info|%s\n' "${section,,}" "${in_use//|//}"
    done
}

# Output, status and signal of a job are those of the command.
check_job() {
    local status=0 text
    head -c 6M /dev/urandom >data
    text=$(lull run -q -- sh -c 'sha256sum data; exit 7' 2>&1) || status=$?
    [[ $text == "$(sha256sum data)" && $status == 7 ]]
    result job $? "status $status of 7: $text"
    status=0
    text=$(lull run -q -- sh -c 'kill -TERM $$' 2>&1) || status=$?
    [[ -z $text && $status == 143 ]]
    result signal $? "status $status of 143: $text"
}

# What the kernel shows of the job's marks, and what the summary says was lent in the gaps.
check_force() {
    local status=0 what
    # The job opens an internet socket (whether somebody answers does not matter) and is asked about itself.
    # shellcheck disable=SC2016 # the job expands these
    lull run --json --summary summary.json --resources disk,cpu,memory,net -- bash -c '
        (exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null
        head -c 64M /dev/zero >big
        sync big
        sed -n "s/^Seccomp:\t//p" /proc/self/status
        chrt -p $$ | sed -n "s/.*policy: //p"
        ionice -p $$
        cat /proc/self/oom_score_adj
        cat /proc/self/cgroup' >job.txt 2>job.err || status=$?
    rm -f big
    result summary "$status" "status $status $(<job.err)"
    mapfile -t seen <job.txt
    [[ ${seen[0]:-} == 2 ]]
    result gate $? "Seccomp ${seen[0]:-nothing}, $(jq -r '.gate.trapped' summary.json) calls trapped"
    [[ ${seen[1]:-} == SCHED_IDLE ]]
    result sched-idle $? "${seen[1]:-nothing}"
    [[ ${seen[2]:-} == idle ]]
    result io-idle $? "${seen[2]:-nothing}"
    [[ ${seen[3]:-} == 1000 ]]
    result oom-first $? "${seen[3]:-nothing}"
    printf 'group|info|%s\n' "${seen[4]:-}"
    [[ $(jq -r .sensor summary.json) == BPF* ]]
    result sensor-bpf $? "$(jq -r .sensor summary.json)"
    for what in memory net; do
        jq -e ".$what != null" summary.json >/dev/null
        result "$what" $? "$(grep -h -- "--resources $what" job.err)"
    done
    # The job's memory may be bounded where its pages in the cache cannot be watched.
    jq -e '[.unmet[] | select(startswith("--resources memory:"))] == []' summary.json >/dev/null
    result page-cache $? "$(grep -h -- '--resources memory' job.err)"
}

# kill -9 of the supervisor: the job goes on and its result and status are right.
check_kill() {
    local front supervisor='' status=0 i
    head -c 4M /dev/urandom >data
    # shellcheck disable=SC2016 # the job expands these
    lull run -q -- bash -c '
        until [[ -e go ]]; do sleep 0.1; done
        for ((i = 0; i < 4; i++)); do dd if=data bs=128k skip=$((i * 8)) count=8 2>/dev/null; done | sha256sum
        exit 7' >killed.txt 2>killed.err &
    front=$!
    for ((i = 0; i < 100; i++)); do
        supervisor=$(pgrep -P "$front" lull-supervisor) && break
        sleep 0.1
    done
    [[ -n $supervisor ]] && kill -9 "$supervisor"
    touch go
    wait "$front" || status=$?
    [[ -n $supervisor && $status == 7 && $(<killed.txt) == "$(sha256sum <data)" ]]
    result kill $? "supervisor ${supervisor:-not found}, status $status of 7, $(<killed.txt) $(<killed.err)"
}

checks=("$@")
((${#checks[@]})) || checks=(doctor job force kill)
export PATH=$PATH:/usr/sbin:/sbin
for check in "${checks[@]}"; do "check_$check"; done
