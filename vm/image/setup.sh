#!/usr/bin/env bash
# Arranges the root file system of the test bed. Run by mmdebstrap, twice:
#
#   setup.sh early ROOT    before the listed packages are installed
#   setup.sh late ROOT     after them
#
# Environment: VM_KEY, the public key of root and user; VM_SUITE, the name of the Debian release.
set -euo pipefail
root=$2

early() {
    # The disks and file systems of this one machine: an initrd of all modules takes a minute to make and long to load.
    mkdir -p "$root/etc/initramfs-tools/conf.d"
    printf '%s\n' MODULES=list COMPRESS=zstd COMPRESSLEVEL=1 RESUME=none >"$root/etc/initramfs-tools/conf.d/vm"
    printf '%s\n' virtio_pci virtio_blk ext4 >"$root/etc/initramfs-tools/modules"
}

late() {
    chroot "$root" apt-get -y --no-install-recommends install "linux-image-cloud-amd64/$VM_SUITE-backports"

    echo lull-vm >"$root/etc/hostname"
    cat >"$root/etc/fstab" <<'END'
/dev/vda / ext4 defaults 0 1
/dev/vdb /mnt/data ext4 nofail 0 2
/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_plain /mnt/nvme ext4 nofail 0 2
/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_slow /mnt/slow ext4 nofail 0 2
/dev/vdc none swap nofail 0 0
END
    mkdir -p "$root"/mnt/{data,nvme,slow}

    # The address that QEMU's user-mode network forwards to.
    printf '%s\n' '[Match]' Name=eth0 '[Network]' Address=10.0.2.15/24 LinkLocalAddressing=no \
        >"$root/etc/systemd/network/eth0.network"
    chroot "$root" systemctl -q enable systemd-networkd ssh
    chroot "$root" systemctl -q mask systemd-networkd-wait-online systemd-timesyncd apt-daily.timer apt-daily-upgrade.timer \
        e2scrub_all.timer e2scrub_reap.service dpkg-db-backup.timer

    # `delegated` is a user whose manager has all controllers; `other` is somebody else, at work.
    local name home
    for name in user delegated other; do
        chroot "$root" useradd -m -s /bin/bash "$name"
    done
    mkdir -p "$root/etc/systemd/system/user@1001.service.d"
    printf '%s\n' '[Service]' 'Delegate=cpu cpuset io memory pids' >"$root/etc/systemd/system/user@1001.service.d/delegate.conf"
    for home in root home/user home/delegated home/other; do
        mkdir -p "$root/$home/.ssh"
        chmod 700 "$root/$home/.ssh"
        echo "$VM_KEY" >"$root/$home/.ssh/authorized_keys"
    done
    for name in user delegated other; do chroot "$root" chown -R "$name:$name" "/home/$name"; done
    # The many short logins of the tests are no attack.
    printf '%s\n' 'UseDNS no' 'MaxStartups 100' 'MaxSessions 100' >"$root/etc/ssh/sshd_config.d/vm.conf"
    # A container is made of these links and the /usr of the machine.
    mkdir -p "$root/opt/container"/{etc,proc,sys,dev,tmp,root,usr,opt/vm,var/tmp}
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/opt/container/$name"; done
    echo root:x:0:0:root:/root:/bin/bash >"$root/opt/container/etc/passwd"
    # Nothing has to be updated at the first boot.
    touch "$root/etc/.updated" "$root/var/.updated"
}

"$1"
