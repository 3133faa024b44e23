#!/usr/bin/env bash
# The table of the conformance suite: what runs natively, under `lull run` alone, and while lull holds it.
#
#   program NAME TAG TOOLS... <<'END'   TAG: quick (also in `make test`) or full; TOOLS: what has to be installed
#   commands, read by bash in an empty directory of their own
#   END
#
# Set for them: $IN, a directory of input that is the same each time; $BIN, the suite's own programs; $PROGRAMS, the directory of
# this file. What they print on standard output, their status and the files that they leave are compared, so they print no times, no
# process ids and nothing that depends on the order of what runs at once.
# shellcheck disable=SC2016  # what is quoted here is expanded when it runs

# --- Calls one by one (waits.c, transfers.c, signals.c)

for name in epoll semaphore sigtimedwait aio recv msgrcv; do
    program "wait-$name" quick cc <<<"\$BIN/waits $name"
done
for name in poll sleep futex message-queue timerfd; do
    program "wait-$name" full cc <<<"\$BIN/waits $name"
done
for name in pipe socket random; do
    program "transfer-$name" quick cc <<<"\$BIN/transfers $name"
done
for name in zero file direct copy mapped inotify; do
    program "transfer-$name" full cc <<<"\$BIN/transfers $name"
done
for name in queued timer restart children stops locks; do
    program "signal-$name" full cc <<<"\$BIN/signals $name"
done

# --- The shell and its tools

program pipe-job quick <<'END'
dd if=/dev/zero bs=1M count=100 status=none | wc -c
END
program dd-random quick <<'END'
LC_ALL=C dd if=/dev/urandom of=out bs=10M count=5 2>&1 | head -n 2
stat -c %s out; rm out
END
program pipes full <<'END'
cat "$IN/noise" | tee >(sha256sum >sum) | cat | wc -c
while [[ ! -s sum ]]; do sleep 0.01; done
END
program traps full <<'END'
trap 'echo caught USR1' USR1
for i in 1 2 3 4 5; do (sleep 0.05; kill -USR1 $$) & wait; wait; echo "round $i"; done
END
program coprocess full <<'END'
coproc tr { stdbuf -oL tr a-z A-Z; }
for word in one two three; do echo $word >&"${tr[1]}"; read -r answer <&"${tr[0]}"; echo "$answer"; done
END
program timeout full <<'END'
timeout 0.3 sleep 10; echo $?
timeout -s KILL 0.3 sh -c 'while :; do :; done'; echo $?
timeout 20 sh -c 'sleep 0.2; exit 5'; echo $?
exit 3
END
program read-timeout full <<'END'
mkfifo fifo; exec 3<>fifo
for i in 1 2 3; do read -r -t 0.1 line <&3; echo "status $? line $line"; done
END
program xargs full findutils:xargs <<'END'
find "$IN/tree" -type f -print0 | xargs -0 -n 8 -P 4 sha256sum | sort
END
program sort full <<'END'
sort -S 1M --parallel=2 "$IN/lines" | sha256sum
END
program text full <<'END'
awk '{ s += $1 * length($0) } END { print s }' "$IN/lines"
grep -c 7 "$IN/lines"; sed 's/7/seven/g' "$IN/lines" | cksum; cut -d' ' -f2 "$IN/lines" | sort | uniq -c | sort -rn | head -n 5
END
program files full <<'END'
mkdir a; for i in {1..300}; do echo $i >a/$i; done
cp -a a b; rm a/*5; mv b c; diff -rq a c | sort; ln -s a link; ln a/1 hard; find . -printf '%p %s %l\n' | sort
END
program split full <<'END'
split -b 300K "$IN/noise" part-; cat part-* | cmp - "$IN/noise" && echo same; ls | wc -l
END
program checksums full <<'END'
(cd "$IN/tree" && find . -type f -exec md5sum {} + | sort -k 2) >sums
(cd "$IN/tree" && md5sum -c --quiet) <sums && echo good
END
program dd-sync full <<'END'
dd if="$IN/noise" of=out bs=64k oflag=dsync count=40 status=none; dd if="$IN/noise" of=direct bs=64k iflag=direct conv=fsync status=none
END
program bc full bc <<'END'
echo 'scale=300; 4*a(1)' | bc -l
END

# --- Archives, copies, backups

program tar full tar <<'END'
tar -C "$IN" --sort=name -cf - tree | tar -xf -; tar -C "$IN" --sort=name --mtime=@0 -czf - tree | sha256sum
END
program cpio full cpio <<'END'
(cd "$IN" && find tree | sort | cpio -o --quiet) | cpio -id --quiet; find tree | wc -l
END
program gzip full gzip <<'END'
gzip -nc "$IN/lines" >a.gz; gzip -dc a.gz | cmp - "$IN/lines" && echo same
END
program bzip2 full bzip2 <<'END'
bzip2 -c "$IN/lines" >a.bz2; bzip2 -dc a.bz2 | cmp - "$IN/lines" && echo same
END
program xz full xz-utils:xz <<'END'
xz -0 -T2 --block-size=512K -c "$IN/lines" >a.xz; xz -dc a.xz | cmp - "$IN/lines" && echo same
END
program zstd full zstd <<'END'
zstd -q -3 -T2 -c "$IN/lines" >a.zst; zstd -dc a.zst | cmp - "$IN/lines" && echo same
END
program zip full zip unzip <<'END'
(cd "$IN" && zip -qrX - tree) >a.zip; unzip -qp a.zip | wc -c; rm a.zip
END
program rsync full rsync <<'END'
rsync -a "$IN/tree/" copy; echo more >>copy/1/1; rsync -a --checksum --itemize-changes "$IN/tree/" copy
END
program restic full restic <<'END'
export RESTIC_PASSWORD=x RESTIC_CACHE_DIR=$PWD/cache
restic -q init -r repo && restic -q backup -r repo "$IN/tree" && restic -q check -r repo >/dev/null
restic -q restore -r repo latest --target out && diff -r "$IN/tree" "out$IN/tree" && echo same; rm -rf repo cache out
END
program borg full borgbackup:borg <<'END'
export BORG_BASE_DIR=$PWD BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
borg init -e none repo && (cd "$IN" && borg create "$OLDPWD/repo::a" tree)
borg extract repo::a && diff -r "$IN/tree" tree && borg check repo && echo same; rm -rf repo .cache .config
END
program git full git <<'END'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo; cp -r "$IN/tree" repo; cd repo || exit
git add . && git commit -qm first && git rm -q tree/1/1 && git commit -qm second && git log --format=%H && git gc -q && git fsck
cd .. && git clone -q repo copy && git -C copy rev-parse HEAD && diff -r repo/tree copy/tree && echo same; rm -rf repo copy
END
program openssl full openssl <<'END'
openssl enc -aes-256-ctr -K 00 -iv 00 -in "$IN/noise" 2>/dev/null | openssl dgst -sha512
END

# --- Databases, languages, builds

program sqlite full sqlite3 <<'END'
{ for i in {1..40}; do echo "insert into t values ($i, hex(zeroblob(2000)));"; done; } >inserts
sqlite3 a.db 'create table t (a, b)'; sqlite3 a.db <inserts; sqlite3 a.db 'select sum(a), sum(length(b)) from t; pragma integrity_check'
rm a.db
END
program sqlite-wal full sqlite3 <<'END'
sqlite3 a.db 'pragma journal_mode = wal; create table t (a)'
for job in 1 2; do
    for i in {1..15}; do sqlite3 -cmd '.timeout 60000' a.db "insert into t values ($i)"; done &
done
wait; sqlite3 a.db 'select count(*), sum(a) from t; pragma integrity_check'; rm a.db*
END
program python-calls full python3 <<<'python3 "$PROGRAMS/calls.py"'
program python-sqlite-timer full python3 <<<'python3 "$PROGRAMS/timed_sqlite.py"; rm -f a.db*'
program perl full perl <<'END'
perl -e 'pipe(R, W); if (!fork) { close R; for (1..200) { syswrite W, "x" x 5000 } exit 4 } close W; $n += $l while $l = sysread R, $b, 65536;
wait; print "$n $?\n"; $SIG{ALRM} = sub { die "alarm\n" }; for (1..3) { eval { alarm 1; sleep 10 }; print $@ }'
END
program node full nodejs:node <<<'node "$PROGRAMS/calls.js"'
program java full default-jdk-headless:javac <<'END'
javac -d . "$PROGRAMS/Calls.java" && java -XX:-UsePerfData Calls; rm ./*.class
END
program go full golang-go:go <<'END'
"$BIN/calls_go"
END
program make full make gcc <<'END'
for i in {1..8}; do echo "int f$i(int x) { return x * $i; }" >$i.c; done
printf 'all: %s\n\tcat $^ | wc -c\n' "$(echo {1..8}.o)" >Makefile; make -s -j4 CFLAGS=-O2
END

# --- stress-ng, which verifies what it does

for name in pipe sock sem-sysv timerfd poll epoll aio fork switch msg mq signal sigq sendfile mmap hdd eventfd flock futex dentry; do
    case $name in
    hdd) ops='20 --hdd-bytes 4M' ;;
    mmap) ops=4 ;;
    fork | dentry) ops=100 ;;
    sock) ops=100 ;;
    timerfd | aio | epoll | sendfile) ops=500 ;;
    *) ops=2000 ;;
    esac
    program "stress-$name" full stress-ng <<<"stress-ng --quiet --no-rand-seed --verify --temp-path . --timeout 60 --$name 1 --$name-ops $ops >/dev/null 2>&1"
done
