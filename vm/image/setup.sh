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

    chroot "$root" useradd -m -s /bin/bash user
    local home
    for home in root home/user; do
        mkdir -p "$root/$home/.ssh"
        chmod 700 "$root/$home/.ssh"
        echo "$VM_KEY" >"$root/$home/.ssh/authorized_keys"
    done
    chroot "$root" chown -R user:user /home/user
    # The many short logins of the tests are no attack.
    printf '%s\n' 'UseDNS no' 'MaxStartups 100' 'MaxSessions 100' >"$root/etc/ssh/sshd_config.d/vm.conf"
    rm -rf "$root"/usr/share/man/?? "$root"/usr/share/info
}

"$1"
