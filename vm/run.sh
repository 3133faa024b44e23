#!/usr/bin/env bash
# Boots Debian 13 (systemd, cgroup v2) in a virtual machine, gives a root shell in it or runs a command, and ends it.
#
#   vm/run.sh                            a shell
#   vm/run.sh 'COMMAND'                  a command as root; its exit status is that of this script
#   vm/run.sh --copy target/release/lull 'lull doctor'
#
#   --copy FILE[:DEST]   copy a file of this machine in first, any number of times; DEST is a path in the machine
#                        (default: /usr/local/bin/NAME), the mode is kept
#   --as NAME            root (default), or an ordinary user in a login session: user, delegated (the user's manager has
#                        all controllers), other
#   --kernel K           stable (default: Debian 13's own) or backports (the newer one of its backports suite)
#   --cpus N             default 2
#   --memory MIB         default 2048
#   --console FILE       keep what the kernel and systemd said on the serial console
#
# The first time it builds the image (vm/image.sh; minutes, root). A boot takes 20 to 60 s: the machine is emulated, KVM is
# neither needed nor used. Other terminals get in with the `ssh -F` line that is printed; with it, files go in and out,
# too: `scp -F .../ssh_config FILE root:/root/`. Nothing written in the machine survives its end.
#
# In it: /mnt/data (virtio disk vdb), /mnt/nvme (NVMe), /mnt/slow (NVMe with 200 requests/s), 512 MiB of swap, podman.
# To let several commands use one machine: give a shell script with --copy, or keep a shell open and use ssh -F beside it.
set -euo pipefail
# shellcheck source=vm/lib.sh
. "$(dirname "$0")/lib.sh"

copies=()
as=root kernel=stable cpus=2 memory=2048 console=
while (($#)); do
    case $1 in
    --copy) copies+=("$2") && shift 2 ;;
    --as) as=$2 && shift 2 ;;
    --kernel) kernel=$2 && shift 2 ;;
    --cpus) cpus=$2 && shift 2 ;;
    --memory) memory=$2 && shift 2 ;;
    --console) console=$2 && shift 2 ;;
    -h | --help)
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
        exit 0
        ;;
    --) shift && break ;;
    -*) die "unknown option '$1': see vm/run.sh --help" ;;
    *) break ;;
    esac
done
command=$*
[[ $as =~ ^(root|user|delegated|other)$ ]] || die "--as $as: it is root, user, delegated or other"
for pair in "${copies[@]}"; do [[ -r ${pair%%:*} ]] || die "cannot read ${pair%%:*}"; done

image=$("$VM_DIR/image.sh")
finish() {
    [[ -n $console && -n $RUN ]] && cp "$RUN/console.log" "$console"
    vm_stop
}
trap finish EXIT
vm_start "$image" "$kernel" "$cpus" "$memory"
for pair in "${copies[@]}"; do
    file=${pair%%:*}
    dest=/usr/local/bin/$(basename "$file")
    [[ $pair == *:* ]] && dest=${pair#*:}
    vm_copy "$file" "$dest"
done
if [[ -n $command ]]; then
    vm_run "$as" "$command"
else
    ssh -t -F "$RUN/ssh_config" "$as"
fi
