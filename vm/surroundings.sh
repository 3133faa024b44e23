# shellcheck shell=bash disable=SC2016
# Who runs lull in the machine. Sourced by vm/test.sh; needs vm/lib.sh and a machine that runs.
#
# within WHO COMMAND runs one in these surroundings, from this side, and passes on its output and exit status.

# In the order in which the table shows them. The first two are the small set.
# shellcheck disable=SC2034 # used by the scripts that source this
readonly SURROUNDINGS=(
    root-ssh user-session user-delegated user-service system-service timer podman-root podman-user
)

describe() { # WHO
    case $1 in
    root-ssh) echo 'root over ssh' ;;
    user-session) echo 'a user in a login session (ssh)' ;;
    user-delegated) echo "a user in a scope of the user's manager, with all controllers delegated" ;;
    user-service) echo '`systemd-run --user`' ;;
    system-service) echo 'a system service, `Type=exec`' ;;
    timer) echo 'a service started by a timer' ;;
    podman-root) echo 'a podman container of root' ;;
    podman-user) echo 'a rootless podman container' ;;
    esac
}

# The machine's own /usr and /opt/vm make the container; its image is a handful of links.
readonly CONTAINER='podman run --rm --pull=never -v /usr:/usr:ro -v /opt/vm:/opt/vm:ro -w /root -e HOME=/root vm-links'

prepare_containers() {
    local who
    for who in root user; do
        vm_run "$who" 'tar -C /opt/container -c . | podman import -q - vm-links >/dev/null'
    done
}

within() { # WHO COMMAND
    case $1 in
    root-ssh) vm_run root "$2" ;;
    user-session) vm_run user "$2" ;;
    user-delegated) vm_run delegated "systemd-run --user --scope -q -p Delegate=yes $2" ;;
    user-service) vm_run user "systemd-run --user --wait --pipe -q $2" ;;
    system-service) vm_run root "systemd-run --wait --pipe -q -p Type=exec -E HOME=/root $2" ;;
    timer)
        vm_run root "set -e
            rm -f /run/vm-timer.*
            mkfifo /run/vm-timer.end
            systemd-run -q --unit=vm-timer --on-active=1s --timer-property=AccuracySec=100ms -E HOME=/root \
                -p StandardOutput=file:/run/vm-timer.out -p StandardError=inherit \
                -p 'ExecStopPost=sh -c \"echo >/run/vm-timer.end\"' $2
            read -r </run/vm-timer.end || true
            cat /run/vm-timer.out
            ! systemctl -q is-failed vm-timer.service"
        ;;
    podman-root) vm_run root "$CONTAINER $2" ;;
    podman-user) vm_run user "$CONTAINER $2" ;;
    esac
}
