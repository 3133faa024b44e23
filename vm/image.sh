#!/usr/bin/env bash
# Makes the disks and kernels of the test bed, once, and prints the folder that has them.
#
#   vm/image.sh            build if needed; print target/vm/image-<hash>
#   vm/image.sh --force    build anew, with the packages of today
#
# Debian 13 as its packages install it, from the mirror that apt is set up with on this machine. The hash is that of this
# script and of the files in vm/image: an image is built again when one of them changes. Needs root (or sudo), for the
# owners of the files in it; 4 GB of disk meanwhile. Takes two to five minutes.
#
#   root.img                  ext4, what vm/image/packages lists and what vm/image/setup.sh arranges
#   data.img nvme.img         ext4, empty: a second virtio disk and an NVMe disk
#   slow.img                  ext4 with a file of 192 MiB to read: an NVMe disk of 200 requests/s
#   swap.img                  swap
#   vmlinuz-K initrd-K        K: `stable` (Debian 13's own kernel) and `backports` (the newer one of its backports suite)
#   id                        the key for ssh
set -euo pipefail
# shellcheck source=vm/lib.sh
. "$(dirname "$0")/lib.sh"

readonly SUITE=trixie

# The mirrors that apt uses here, so that the image comes from where everything else comes from.
mirror() { # LABEL
    # shellcheck disable=SC2016 # apt-get expands these
    apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | sed -n "s/ $1\$//p" | head -n 1
}

sources() {
    local main security
    main=$(mirror Debian)
    security=$(mirror Debian-Security)
    [[ -n $main ]] || die "apt knows no Debian mirror here (apt-get update first; it has to be a Debian machine)"
    echo "deb $main $SUITE main"
    echo "deb $main $SUITE-updates main"
    echo "deb $main $SUITE-backports main"
    [[ -n $security ]] && echo "deb $security $SUITE-security main"
}

new_disk() { # FILE SIZE [OPTIONS-OF-MKFS]
    truncate -s "$2" "$1"
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard "${@:3}" "$1"
}

build() { # DIR
    local dir=$1 work=$1/work packages lines
    rm -rf "$dir"
    mkdir -p "$work"
    ssh-keygen -q -t ed25519 -N '' -C lull-test-bed -f "$dir/id"
    packages=$(sed 's/#.*//' "$VM_DIR/image/packages" | xargs | tr ' ' ',')
    mapfile -t lines < <(sources)
    say "building the image: $(wc -l <"$VM_DIR/image/packages") packages and what they need, from $SUITE"
    VM_KEY=$(<"$dir/id.pub") VM_SUITE=$SUITE mmdebstrap --mode=root --variant=apt --architectures=amd64 \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt=force-unsafe-io --aptopt='Acquire::Retries "3"' \
        --essential-hook="$VM_DIR/image/setup.sh early \"\$1\"" \
        --include="$packages" \
        --customize-hook="$VM_DIR/image/setup.sh late \"\$1\"" \
        "$SUITE" "$work/root" "${lines[@]}" >"$dir/build.log" 2>&1 \
        || { tail -n 30 "$dir/build.log" >&2; die "the image could not be built; all of it: $dir/build.log"; }
    local kernel name
    for kernel in "$work"/root/boot/vmlinuz-*; do
        name=stable
        # Of the two the one with the higher version is that of the backports suite.
        [[ $kernel == "$(printf '%s\n' "$work"/root/boot/vmlinuz-* | sort -V | tail -n 1)" ]] && name=backports
        mv "$kernel" "$dir/vmlinuz-$name"
        mv "${kernel/vmlinuz-/initrd.img-}" "$dir/initrd-$name"
    done
    [[ -e $dir/vmlinuz-stable && -e $dir/vmlinuz-backports ]] || die "two kernels were expected: $(ls "$dir")"
    new_disk "$dir/root.img" 3G -d "$work/root"
    for name in data nvme; do new_disk "$dir/$name.img" 1G; done
    mkdir "$work/slow"
    head -c 192M /dev/urandom >"$work/slow/data"
    new_disk "$dir/slow.img" 1G -d "$work/slow"
    truncate -s 512M "$dir/swap.img"
    chmod 600 "$dir/swap.img"
    mkswap "$dir/swap.img" >/dev/null 2>&1
    rm -rf "$work"
}

main() {
    local hash dir
    export PATH=$PATH:/usr/sbin:/sbin
    hash=$(cat "$VM_DIR/image.sh" "$VM_DIR"/image/* | sha256sum | cut -c 1-12)
    dir=$CACHE/image-$hash
    mkdir -p "$CACHE"
    exec 9>"$CACHE/lock"
    flock 9
    if [[ ${1:-} == --force || ! -e $dir/complete ]]; then
        need mmdebstrap mmdebstrap
        need mkfs.ext4 e2fsprogs
        ((EUID == 0)) || exec sudo -n -- "$0" "$@"
        # Images of earlier contents only take room. A machine that runs from one keeps its open files.
        rm -rf "$CACHE"/image-*
        build "$dir" 9>&-
        touch "$dir/complete"
        say "built in $SECONDS s"
    fi
    echo "$dir"
}

main "$@"
