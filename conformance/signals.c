/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals, timers, children and locks: nothing gets lost, nothing comes that nobody sent. */
#include "calls.h"

#include <sys/file.h>
#include <sys/time.h>

enum { SIGNALS = 300 };

static volatile sig_atomic_t caught, out_of_order;

static void catch_queued(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_value.sival_int != caught)
        out_of_order++;
    caught++;
}

static void catch_plain(int number)
{
    (void)number;
    caught++;
}

static void on(int number, void (*plain)(int), void (*queued)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_flags = flags | (queued ? SA_SIGINFO : 0)};
    if (queued)
        action.sa_sigaction = queued;
    else
        action.sa_handler = plain;
    sigemptyset(&action.sa_mask);
    must(!sigaction(number, &action, NULL), "sigaction");
}

static pid_t parent;

static void send_queued(int fd)
{
    (void)fd;
    for (int i = 0; i < SIGNALS; i++) {
        union sigval value = {.sival_int = i};
        must(!sigqueue(parent, SIGRTMIN, value), "sigqueue");
        if (i % 16 == 0)
            sleep_ms(2);
    }
}

static void test_queued(void)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    on(SIGRTMIN, NULL, catch_queued, SA_RESTART);
    parent = getpid();
    pid_t child = start(send_queued, -1);
    struct tally tally = {0};
    while (caught < SIGNALS)
        count(&tally, sigsuspend(&before), -1, EINTR);
    end(child);
    printf("%d caught, %d out of order, %ld other results\n", (int)caught, (int)out_of_order, tally.other);
}

/* An interval timer without SA_RESTART: calls on files are not interrupted by it. */
static void beside_timer(long period_us)
{
    static char bytes[128 << 10];
    struct tally writes = {0}, reads = {0}, syncs = {0};
    int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0, "file");
    on(SIGALRM, catch_plain, NULL, 0);
    struct itimerval every = {{0, period_us}, {0, period_us}};
    must(!setitimer(ITIMER_REAL, &every, NULL), "setitimer");
    for (int i = 0; i < 600; i++) {
        off_t at = (off_t)(i % 100) * (off_t)sizeof bytes;
        count(&writes, pwrite(fd, bytes, sizeof bytes, at), sizeof bytes, 0);
        count(&reads, pread(fd, bytes, sizeof bytes, at), sizeof bytes, 0);
        if (i % 100 == 0)
            count(&syncs, fdatasync(fd), 0, 0);
    }
    struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, NULL);
    tell("pwrite", &writes);
    tell("pread", &reads);
    tell("fdatasync", &syncs);
    printf("the timer came: %s\n", caught ? "yes" : "no");
}

static void test_timer(void)
{
    beside_timer(10000);
}

static void test_fast_timer(void)
{
    beside_timer(2000);
}

static void test_restart(void)
{
    struct tally tally = {0};
    int fds[2];
    on(SIGALRM, catch_plain, NULL, SA_RESTART);
    must(!pipe(fds), "pipe");
    struct itimerval every = {{0, 5000}, {0, 5000}};
    must(!setitimer(ITIMER_REAL, &every, NULL), "setitimer");
    for (int i = 0; i < 20; i++) {
        char byte;
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            sleep_ms(20);
            _exit(write(fds[1], "x", 1) != 1);
        }
        count(&tally, read(fds[0], &byte, 1), 1, 0);
        int status;
        must(waitpid(child, &status, 0) == child && !status, "waitpid");
    }
    tell("read that restarts", &tally);
}

static void test_children(void)
{
    unsigned long sum = 0;
    struct tally tally = {0};
    for (int i = 0; i < 60; i++) {
        fflush(stdout);
        pid_t child = fork();
        must(child >= 0, "fork");
        if (!child) {
            sleep_ms(i % 7);
            if (i % 10 == 9)
                raise(SIGKILL);
            _exit(i);
        }
        if (i % 4 != 3)
            continue;
        for (int j = 0; j < 4; j++) {
            siginfo_t info = {0};
            count(&tally, waitid(P_ALL, 0, &info, WEXITED), 0, 0);
            sum += (unsigned long)info.si_status * (unsigned long)info.si_code;
        }
    }
    tell("waitid", &tally);
    printf("sum %lu\n", sum);
}

static void sleep_in_call(int fd)
{
    char byte;
    _exit(read(fd, &byte, 1) == 1 ? 0 : 1);
}

/* A parent that watches its children stop is told of stops that it sent, and of no others. */
static void test_stops(void)
{
    int fds[2];
    long stopped = 0, continued = 0, ended = 0;
    must(!pipe(fds), "pipe");
    pid_t child = start(sleep_in_call, fds[0]);
    for (int i = 0; i < 10; i++) {
        int status;
        sleep_ms(20);
        kill(child, SIGSTOP);
        must(waitpid(child, &status, WUNTRACED | WCONTINUED) == child, "waitpid");
        stopped += WIFSTOPPED(status);
        kill(child, SIGCONT);
        must(waitpid(child, &status, WUNTRACED | WCONTINUED) == child, "waitpid");
        continued += WIFCONTINUED(status);
    }
    sleep_ms(200);
    must(write(fds[1], "x", 1) == 1, "write");
    int status;
    must(waitpid(child, &status, WUNTRACED | WCONTINUED) == child, "waitpid");
    ended += WIFEXITED(status) && !WEXITSTATUS(status);
    printf("%ld stops, %ld continuations, %ld end\n", stopped, continued, ended);
}

static void add_under_lock(int fd)
{
    (void)fd;
    struct tally locks = {0};
    int file = open("counter", O_RDWR);
    must(file >= 0, "counter");
    for (int i = 0; i < 100; i++) {
        long value;
        if (i % 2) {
            count(&locks, flock(file, LOCK_EX), 0, 0);
        } else {
            struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
            count(&locks, fcntl(file, F_SETLKW, &whole), 0, 0);
            count(&locks, flock(file, LOCK_EX), 0, 0);
        }
        must(pread(file, &value, sizeof value, 0) == sizeof value, "pread");
        value++;
        must(pwrite(file, &value, sizeof value, 0) == sizeof value, "pwrite");
        flock(file, LOCK_UN);
        if (i % 2 == 0) {
            struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
            fcntl(file, F_SETLK, &whole);
        }
    }
    if (locks.other)
        tell("lock", &locks);
}

static void test_locks(void)
{
    long value = 0;
    pid_t children[4];
    int file = open("counter", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(write(file, &value, sizeof value) == sizeof value, "write");
    for (int i = 0; i < 4; i++)
        children[i] = start(add_under_lock, -1);
    for (int i = 0; i < 4; i++)
        end(children[i]);
    must(pread(file, &value, sizeof value, 0) == sizeof value, "pread");
    printf("counted to %ld\n", value);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"queued", test_queued}, {"timer", test_timer}, {"fast-timer", test_fast_timer}, {"restart", test_restart}, {"children", test_children},
        {"stops", test_stops},   {"locks", test_locks}, {0},
    };
    return run_named(tests, argc, argv);
}
