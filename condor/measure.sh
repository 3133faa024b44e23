#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2046 # expanded in the nodes; one word for each node
# What guests get done on the real pool, and what that costs owners, under one policy: a replay of condor/owners.csv, 85 s.
#
#   condor/measure.sh all              both of these, in turn: what docs/results/linger.md tells of the real pool; the pool is ended
#   condor/measure.sh guests           guests done in a replay of each of two policies, four minutes
#   condor/measure.sh owners [BLOCKS]  owners' requests beside guests, with them below everybody and not (default 4 blocks, seven minutes)
#   condor/measure.sh prepare POLICY   pool up, lull installed, guests submitted (POLICY `none`: no guests)
#   condor/measure.sh replay           the 85 s; prints one line of JSON: pieces of work done, owners' requests
#   condor/measure.sh pairs [ROUNDS]   after prepare: owners' requests with guests stopped and beside them, in turns (default 8, 85 s)
#   condor/measure.sh calibrate        reads per request of 1 ms, for READS
#
# Environment: LULL; READS, random reads per request of an owner (default: calibrated); GUESTS, how many are handed in (default 60).
set -euo pipefail
# shellcheck source=condor/lib.sh
. "$(dirname "$0")/lib.sh"

readonly RUN=$CACHE/run
readonly SECONDS_OF_REPLAY=85
# 8 s on a node that nobody else uses.
readonly UNITS=800
pool() { "$CONDOR_DIR/pool.sh" "$@" </dev/null; }
file() { echo "/proc/$(<"$RUN/$1/pid")/root/$2"; } # NODE PATH

install_policy() { # POLICY [OPTION]
    local node
    for node in cm n1 n2 n3; do
        pool exec "$node" lull condor install --policy "$@" --busy 2% --away-after 2s --period 500ms --restart 4s >/dev/null 2>&1
    done
}

prepare() { # POLICY
    pool down
    pool up
    [[ $1 == none ]] && return
    install_policy "$1"
    cp "$CONDOR_DIR/measure-guest.pl" "$(file cm home/guest/guest.pl)"
    cat >"$(file cm home/guest/guest.sub)" <<END
executable = guest.pl
arguments = \$(Process) $UNITS
output = out.\$(Process)
error = err.\$(Process)
log = log
should_transfer_files = YES
when_to_transfer_output = ON_EXIT_OR_EVICT
queue ${GUESTS:-60}
END
    pool guest sh -c 'cd && condor_submit -terse guest.sub' >/dev/null
    sleep 12
}

# Pieces done by all guests: of each the furthest that any node has seen.
pieces() {
    local node
    for node in n1 n2 n3; do
        (cd "$(file "$node" home/guest)" && grep -H . mark-*.at 2>/dev/null) || true
    done | awk -F: '$2 > most[$1] { most[$1] = $2 } END { for (guest in most) sum += most[guest]; print sum + 0 }'
}

replay() {
    local before after began node from to load
    before=$(pieces)
    began=$EPOCHREALTIME
    while IFS=, read -r node from to load; do
        [[ $node == node ]] && continue
        (
            sleep "$from"
            pool exec "$node" timeout 60 lull load cpu-serve --load "$load" --service 1ms --reads "$READS" --warmup 500ms \
                --seconds $((to - from - 1)) --seed "$from" --json
        ) >"$RUN/owner-$node-$from.json" 2>>"$RUN/owner.log" &
    done <"$CONDOR_DIR/owners.csv"
    sleep "$SECONDS_OF_REPLAY"
    after=$(pieces)
    wait
    python3 - "$before" "$after" "$UNITS" "$(bc <<<"$EPOCHREALTIME - $began")" "$(grep -c '^004 (' "$(file cm home/guest/log)" 2>/dev/null || true)" \
        "$RUN"/owner-*.json <<'END'
import json, sys
before, after, units, took, evicted = (float(word or 0) for word in sys.argv[1:6])
requests = []
for path in sys.argv[6:]:
    lines = [json.loads(line) for line in open(path) if line.strip()]
    requests.append({"episode": path.rsplit("owner-", 1)[1][:-5], "last": lines[-1] if lines else None})
guests = (after - before) / units
print(json.dumps({"guests": guests, "per_hour": guests / took * 3600, "evicted": evicted, "took_s": took, "owners": requests}))
END
}

# All owners at once for four seconds; prints the mean of a request in nanoseconds for each.
owners_now() {
    local node
    for node in n1:20 n2:8 n3:6; do
        pool exec "${node%:*}" lull load cpu-serve --load "${node#*:}" --service 1ms --reads "$READS" --warmup 500ms --seconds 4 --json \
            >"$RUN/pair-${node%:*}.json" 2>>"$RUN/owner.log" &
    done
    wait
    cat "$RUN"/pair-n?.json | sed 's/.*"mean_ns":\([0-9]*\).*/\1/' | xargs
}

signal_guests() { # SIGNAL
    local node
    for node in n1 n2 n3; do pool exec "$node" pkill "-$1" -f guest.pl || true; done
}

# One line for each round: the means of the three owners alone, then beside guests.
rounds() { # ROUNDS
    local round alone beside
    for ((round = 1; round <= $1; round++)); do
        # Either half comes first as often.
        if ((round % 2)); then
            signal_guests STOP; alone=$(owners_now); signal_guests CONT; beside=$(owners_now)
        else
            beside=$(owners_now); signal_guests STOP; alone=$(owners_now); signal_guests CONT
        fi
        echo "$alone $beside"
    done
}

# The ratio, as the mean of logarithms with its 95% interval.
ratio() {
    python3 -c '
import sys, statistics, math
rows = [[float(word) for word in line.split()] for line in sys.stdin]
ratios = [beside / alone for row in rows for alone, beside in zip(row[:3], row[3:])]
logs = [math.log(ratio) for ratio in ratios]
mean, error = statistics.mean(logs), statistics.stdev(logs) / len(logs) ** 0.5
print("ratio %.3f, 95%% from %.3f to %.3f, median %.3f, %d pairs; alone %.0f us in the mean" % (math.exp(mean), math.exp(mean - 2.0 * error),
      math.exp(mean + 2.0 * error), statistics.median(ratios), len(ratios), statistics.mean(value for row in rows for value in row[:3]) / 1e3))'
}

pairs() { rounds "$1" | tee "$RUN/pairs" | ratio; }

# Guests done: a replay for each policy.
guests() {
    local policy
    trap 'pool down' EXIT
    for policy in linger-longer immediate-eviction; do
        prepare "$policy"
        echo "$policy: $(replay | sed 's/, "owners".*//; s/[{"]//g')"
    done
}

# Owners' requests beside guests, over those with guests stopped: guests below everybody, and in HTCondor's groups. In turns, since the hour of the host
# changes more than lull does.
owners() { # BLOCKS
    local block
    trap 'pool down' EXIT
    GUESTS=300 prepare linger-forever
    for ((block = 1; block <= $1; block++)); do
        install_policy linger-forever
        sleep 6
        rounds 5 >>"$RUN/pairs-below"
        install_policy linger-forever --keep-groups
        sleep 6
        rounds 5 >>"$RUN/pairs-kept"
        say "pairs: block $block of $1"
    done
    echo "guests below everybody: $(ratio <"$RUN/pairs-below")"
    echo "in HTCondor's groups (--keep-groups): $(ratio <"$RUN/pairs-kept")"
}

calibrate() { "$LULL" load cpu-calibrate --service 1ms --json; }

: "${LULL:=${CARGO_TARGET_DIR:-$ROOT_DIR/target}/release/lull}"
export LULL
case ${1:-} in
all | guests | owners | pairs | replay) : "${READS:=$(calibrate | sed 's/[^0-9]*\([0-9]*\).*/\1/')}" ;;
esac
case ${1:-} in
all) guests && owners 4 ;;
guests) guests ;;
owners) owners "${2:-4}" ;;
pairs) pairs "${2:-8}" ;;
prepare) prepare "${2:?POLICY}" ;;
replay) replay ;;
calibrate) calibrate ;;
*) sed -n '3,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
