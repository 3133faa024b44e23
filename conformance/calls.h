/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs of the conformance suite share: they print what each system call returned, and no times. */
#ifndef CALLS_H
#define CALLS_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct test {
    const char *name;
    void (*run)(void);
};

/* Counts results: what came how often. */
struct tally {
    long as_wanted, other;
    long last_result;
    int last_errno;
};

static inline void count(struct tally *tally, long result, long wanted, int wanted_errno)
{
    if (result == wanted && (result != -1 || errno == wanted_errno)) {
        tally->as_wanted++;
        return;
    }
    tally->other++;
    tally->last_result = result;
    tally->last_errno = result == -1 ? errno : 0;
}

static inline void tell(const char *what, const struct tally *tally)
{
    printf("%s: %ld as wanted, %ld otherwise", what, tally->as_wanted, tally->other);
    if (tally->other)
        printf(" (the last one %ld, %s)", tally->last_result, strerror(tally->last_errno));
    printf("\n");
}

static inline void must(int is_so, const char *what)
{
    if (!is_so) {
        perror(what);
        exit(99);
    }
}

static inline void sleep_ms(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &span, &span) == EINTR)
        ;
}

static inline struct timespec span_of_ms(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    return span;
}

/* Runs `child` in a process of its own. */
static inline pid_t start(void (*child)(int), int fd)
{
    fflush(stdout);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (!pid) {
        child(fd);
        fflush(stdout);
        _exit(0);
    }
    return pid;
}

static inline void end(pid_t pid)
{
    int status;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    if (status)
        printf("a child ended with status %#x\n", status);
}

/* Runs the test that the first argument names. */
static inline int run_named(const struct test *tests, int argc, char **argv)
{
    for (; tests->name; tests++) {
        if (argc == 2 && !strcmp(tests->name, argv[1])) {
            tests->run();
            return 0;
        }
        if (argc == 1)
            printf("%s\n", tests->name);
    }
    return argc == 1 ? 0 : 2;
}

#endif
