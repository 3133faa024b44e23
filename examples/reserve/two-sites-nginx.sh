#!/usr/bin/env bash
# Two web sites, each an nginx of its own: one has half of the CPU reserved, the other is asked by many clients.
#
#   sudo examples/reserve/two-sites-nginx.sh [SECONDS]      for each case (default 5)
#
# A page is 256 KiB that nginx compresses for each request, which takes some milliseconds of the CPU. Both sites share one CPU, the clients have
# another one. It prints what each site serves: the site of interest alone, beside the other, and with 50% reserved. nginx runs in the
# foreground with a configuration of its own, not as a service. It needs root, two CPUs, nginx and curl, and leaves nothing behind.
set -euo pipefail

seconds=${1:-5}
lull=${LULL:-lull}
here=$(mktemp -d)
chmod 755 "$here"
reserv=$here/reserv
sites=()

finish() {
    stop_sites
    mountpoint -q "$reserv" && "$lull" reserve unmount --lazy "$reserv"
    rm -rf "$here"
}
trap finish EXIT

start() { # PORT [RESERVATION]
    local port=$1 domain=()
    [[ $# -gt 1 ]] && domain=("$lull" reserve exec --cpu "$2" --)
    mkdir -p "$here/$port"
    cat >"$here/$port/nginx.conf" <<CONF
daemon off;
worker_processes 2;
pid $here/$port/pid;
error_log $here/$port/error.log;
events { }
http {
    access_log off;
    client_body_temp_path $here/$port/body;
    proxy_temp_path $here/$port/proxy;
    fastcgi_temp_path $here/$port/fastcgi;
    uwsgi_temp_path $here/$port/uwsgi;
    scgi_temp_path $here/$port/scgi;
    gzip on;
    gzip_comp_level 9;
    gzip_types text/plain;
    server {
        listen 127.0.0.1:$port;
        root $here/pages;
        default_type text/plain;
    }
}
CONF
    "${domain[@]}" taskset -c 0 nginx -p "$here/$port" -c "$here/$port/nginx.conf" 2>/dev/null &
    sites+=($!)
    until (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
}

stop_sites() {
    if [[ ${#sites[@]} -gt 0 ]]; then
        kill "${sites[@]}" 2>/dev/null || true
        wait "${sites[@]}" 2>/dev/null || true
    fi
    sites=()
}

# Clients that keep asking; the number of pages that came in time.
ask() { # PORT CLIENTS
    local n
    # Each client keeps its connection and leaves a character for each page, on standard error, which is written at once.
    for n in $(seq "$2"); do
        taskset -c 1 timeout "$seconds" curl -s -H 'Accept-Encoding: gzip' -o /dev/null -w '%{stderr}.' \
            "http://127.0.0.1:$1/page?[1-100000]" 2>"$here/asked-$1-$n" >/dev/null &
    done
    # shellcheck disable=SC2046 # numbers
    wait $(jobs -p | grep -v -x -F "$(printf '%s\n' "${sites[@]}")") 2>/dev/null || true
    cat "$here/asked-$1"-* | wc -c
    rm -f "$here/asked-$1"-*
}

measure() { # NAME PORT OTHER_PORT CLIENTS
    local own other=0
    if [[ $4 -gt 0 ]]; then
        ask "$3" "$4" >"$here/other" &
        local asking=$!
    fi
    own=$(ask "$2" 10)
    if [[ $4 -gt 0 ]]; then
        wait "$asking"
        other=$(<"$here/other")
    fi
    awk -v name="$1" -v own="$own" -v other="$other" -v s="$seconds" 'BEGIN { printf "| %s | %.0f | %.0f |\n", name, own / s, other / s }'
}

mkdir "$here/pages"
head -c 196608 /dev/urandom | base64 -w 0 >"$here/pages/page"
chmod -R a+rX "$here"

echo "| case | site of interest, pages/s | other site, pages/s |"
echo "|---|---|---|"
start 8111
start 8112
measure "alone" 8111 8112 0
measure "beside 40 clients of the other" 8111 8112 40
stop_sites
"$lull" reserve mount "$reserv"
mkdir "$reserv"/cpu/r{0,1}
echo "50% 50" >"$reserv/cpu/r0/share"
echo "49% 49" >"$reserv/cpu/r1/share"
start 8113 "$reserv/cpu/r0"
start 8114 "$reserv/cpu/r1"
measure "beside 40, 50% reserved" 8113 8114 40
measure "50% reserved, the other idle" 8113 8114 0
