# shellcheck shell=bash
# What the scripts of this folder share: where things are, and the root directory of the nodes. Sourced, not run.

CONDOR_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT_DIR=$(dirname "$CONDOR_DIR")
# shellcheck disable=SC2034 # used by the scripts that source this
CACHE=${CARGO_TARGET_DIR:-$ROOT_DIR/target}/condor
export PATH=$PATH:/usr/sbin:/sbin

readonly SUITE=trixie

say() { echo "condor: $*" >&2; }

die() {
    say "$*"
    exit 1
}

# The mirror that apt uses here, so that these packages come from where all others come from.
mirror() {
    # shellcheck disable=SC2016 # apt-get expands these
    apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | sed -n 's/ Debian$//p' | head -n 1
}

# Prints the root directory that all nodes share, which is made if it is not there: Debian 13 with HTCondor, 57 MB to fetch, 260 MB
# on the disk, half a minute. It is made again when the list of packages or this file changes.
root_dir() {
    local hash dir from packages
    hash=$(cat "$CONDOR_DIR/lib.sh" "$CONDOR_DIR/packages" | sha256sum | cut -c 1-12)
    dir=$CACHE/root-$hash
    if [[ ! -e $dir/complete ]]; then
        command -v mmdebstrap >/dev/null || die "no mmdebstrap: apt-get install mmdebstrap"
        from=$(mirror)
        [[ -n $from ]] || die "apt knows no Debian mirror here (apt-get update first; it has to be a Debian machine)"
        rm -rf "$CACHE"/root-*
        mkdir -p "$dir"
        packages=$(sed 's/#.*//' "$CONDOR_DIR/packages" | xargs | tr ' ' ',')
        say "making a root directory: $packages and what they need, from $SUITE"
        # shellcheck disable=SC2016 # the hook expands it
        mmdebstrap --mode=root --variant=apt --dpkgopt='path-exclude=/usr/share/doc/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt=force-unsafe-io --aptopt='Acquire::Retries "3"' --include="$packages" \
            --customize-hook='chroot "$1" useradd --create-home --shell /bin/bash guest' \
            "$SUITE" "$dir/root" "deb $from $SUITE main" >"$dir/build.log" 2>&1 \
            || { tail -n 30 "$dir/build.log" >&2; die "the root directory could not be made; all of it: $dir/build.log"; }
        touch "$dir/complete"
    fi
    echo "$dir/root"
}
