#!/usr/bin/env bash
# Services whose main process is `lull run`, as systemd sees them: one line per check, as result.sh has them. As root.
set -uo pipefail
# shellcheck source=vm/guest/result.sh
. "$(dirname "$0")/result.sh"

finish() {
    systemctl -q stop vm-notify.service 2>/dev/null
    systemctl -q reset-failed 'vm-*' 2>/dev/null
    rm -f /run/systemd/system/vm-notify.service /run/vm-notify.*
    systemctl daemon-reload
}
trap finish EXIT

# The job's exit status is that of the service.
status=0
systemd-run --wait --collect -q --unit=vm-exec -p Type=exec lull run -q -- sh -c 'exit 7' || status=$?
((status == 7))
result exec-status $? "systemd saw status $status of 7"

# A job tells systemd that it is ready, and is told to stop.
cat >/run/systemd/system/vm-notify.service <<'END'
[Service]
Type=notify
TimeoutStartSec=60
ExecStart=lull run -q -- bash -c 'trap "touch /run/vm-notify.stopped; exit 0" TERM; systemd-notify --ready; while :; do sleep 1 & wait; done'
END
systemctl daemon-reload
status=0
systemctl start vm-notify.service || status=$?
state=$(systemctl is-active vm-notify.service)
[[ $status == 0 && $state == active ]]
result notify-ready $? "start: status $status, then $state"
systemctl stop vm-notify.service
state=$(systemctl show -P Result vm-notify.service)
[[ -e /run/vm-notify.stopped && $state == success ]]
result notify-stop $? "result $state, job $(test -e /run/vm-notify.stopped && echo stopped itself || echo did not stop itself)"

# The supervisor of a service is killed: the service goes on, and ends as its job does.
systemctl start vm-notify.service
front=$(systemctl show -P MainPID vm-notify.service)
supervisor=$(pgrep -P "$front" lull-supervisor) && kill -9 "$supervisor"
sleep 1
state=$(systemctl is-active vm-notify.service)
rm -f /run/vm-notify.stopped
systemctl stop vm-notify.service
[[ -n $supervisor && $state == active && -e /run/vm-notify.stopped ]]
result notify-kill $? "supervisor ${supervisor:-not found}, then $state, result $(systemctl show -P Result vm-notify.service)"
