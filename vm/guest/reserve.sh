#!/usr/bin/env bash
# Reservations on cgroup v2: `CHECK|ok|DETAIL` or `CHECK|FAIL|DETAIL` per line.
#
#   reserve.sh      as root; takes a minute
#
# Memory: what one group has been promised (memory.min) stays in memory while another program takes all there is; the same without a
# promise does not. Threads: a thread moves alone in threaded groups.
set -uo pipefail

readonly POINT=/reserv FILE=/mnt/data/promised FILE_MIB=300
readonly TAKEN=1600M
LULL=${LULL:-lull}

note() { # CHECK DETAIL CONDITION...
    local check=$1 detail=$2
    shift 2
    if "$@"; then echo "$check|ok|$detail"; else echo "$check|FAIL|$detail"; fi
}

# The group of a process, as v2 shows it.
group_of() { # PID
    echo "/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$1/cgroup")"
}

held_mib() { # GROUP
    echo $(($(<"$1/memory.current") / 1048576))
}

# How much of the file a reader's group still holds after another program took nearly all of the memory.
kept_mib() { # SHARE
    local reader group
    echo "$1" >"$POINT/mem/r0/share"
    sync
    echo 3 >/proc/sys/vm/drop_caches
    "$LULL" reserve exec --cpu "$POINT/cpu/r0" --mem "$POINT/mem/r0" -- sh -c "cat $FILE >/dev/null; exec sleep 1000" &
    reader=$!
    for _ in $(seq 100); do
        sleep 0.5
        [[ $(</proc/$reader/comm) == sleep ]] && break
    done
    group=$(group_of "$reader")
    # One buffer, written from end to end; killed for want of memory it has taken enough, too.
    dd if=/dev/zero of=/dev/null bs="$TAKEN" count=1 2>/dev/null
    held_mib "$group"
    kill "$reader"
    wait "$reader" 2>/dev/null
}

head -c ${FILE_MIB}M /dev/zero >"$FILE"
"$LULL" reserve mount "$POINT" || exit 1
mkdir "$POINT/cpu/r0" "$POINT/mem/r0" "$POINT/mem/r1"
echo '50% 50' >"$POINT/cpu/r0/share"

echo '400MiB 0' >"$POINT/mem/r0/share"
"$LULL" reserve exec --cpu "$POINT/cpu/r0" --mem "$POINT/mem/r0" -- sleep 1000 &
sleeper=$!
for _ in $(seq 100); do
    sleep 0.1
    [[ $(</proc/$sleeper/comm) == sleep ]] && break
done
group=$(group_of "$sleeper")
minimum=$(<"$(dirname "$group")/memory.min")
note memory-min "$minimum bytes in $(dirname "${group#/sys/fs/cgroup}")" test "$minimum" -eq $((400 * 1048576))
said=$("$LULL" reserve exec --cpu "$POINT/cpu/r0" --mem "$POINT/mem/r1" -- true 2>&1)
note two-paths "${said:-not refused}" test $? -ne 0 -o -n "$said"
kill "$sleeper"
wait "$sleeper" 2>/dev/null

promised=$(kept_mib '400MiB 0')
plain=$(kept_mib '0% 0')
note memory-kept "$promised of $FILE_MIB MiB with a promise, $plain without" test "$promised" -ge 280 -a "$plain" -lt 200
"$LULL" reserve unmount "$POINT"
rm "$FILE"
left=$(find /sys/fs/cgroup -name 'lull-*' -type d)
note unmounted "$left" test -z "$left"

"$LULL" reserve mount --threads "$POINT" || exit 1
mkdir -p "$POINT"/cpu/r0/{q1,q2}
said=$("$LULL" reserve exec --cpu "$POINT/cpu/r0/q1" -- \
    bash -c "echo $POINT/cpu/r0/q2 >$POINT/proc/thread-self && cat $POINT/proc/thread-self; ls $POINT" 2>&1 | tr '\n' ' ')
note thread "$said" grep -q '/cpu/r0/q2 ' <<<"$said"
note no-memory "$said" test "${said/ mem /}" = "$said"
"$LULL" reserve unmount "$POINT"
left=$(find /sys/fs/cgroup -name 'lull-*' -type d)
note threads-unmounted "$left" test -z "$left"
