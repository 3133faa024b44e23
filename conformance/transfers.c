/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that move bytes: each has to move all of them, as it does alone. */
#include "calls.h"

#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

enum { MIB = 1 << 20, ROUNDS = 24 };

static char *buffer(void)
{
    char *bytes = malloc(MIB);
    must(bytes != NULL, "malloc");
    for (int i = 0; i < MIB; i++)
        bytes[i] = (char)(i * 31 + i / 4096);
    return bytes;
}

/* A reader that takes its time, so that the writer waits. */
static void read_slowly(int fd)
{
    static char bytes[16384];
    unsigned long sum = 0, total = 0;
    ssize_t length;
    while ((length = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < length; i++)
            sum = sum * 31 + (unsigned char)bytes[i];
        total += (unsigned long)length;
        if (total % (8 * sizeof bytes) < sizeof bytes)
            sleep_ms(2);
    }
    printf("read %lu bytes, sum %lx, at the end %zd\n", total, sum, length);
}

static void write_all(int fds[2], const char *what)
{
    struct tally tally = {0};
    char *bytes = buffer();
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        close(fds[1]);
        read_slowly(fds[0]);
        fflush(stdout);
        _exit(0);
    }
    close(fds[0]);
    for (int i = 0; i < ROUNDS / 2; i++)
        count(&tally, write(fds[1], bytes, MIB), MIB, 0);
    close(fds[1]);
    end(child);
    tell(what, &tally);
}

static void test_pipe(void)
{
    int fds[2];
    must(!pipe(fds), "pipe");
    write_all(fds, "write to a pipe");
}

static void test_socket(void)
{
    int fds[2];
    must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
    write_all(fds, "write to a socket");
}

static void test_random(void)
{
    struct tally reads = {0}, calls = {0};
    char *bytes = malloc(8 * MIB);
    int fd = open("/dev/urandom", O_RDONLY);
    must(fd >= 0 && bytes, "/dev/urandom");
    for (int i = 0; i < 8; i++) {
        count(&reads, read(fd, bytes, 8 * MIB), 8 * MIB, 0);
        count(&calls, getrandom(bytes, 8 * MIB, 0), 8 * MIB, 0);
    }
    tell("read from /dev/urandom", &reads);
    tell("getrandom", &calls);
}

static void test_zero(void)
{
    struct tally tally = {0};
    char *bytes = malloc(8 * MIB);
    int fd = open("/dev/zero", O_RDONLY);
    must(fd >= 0 && bytes, "/dev/zero");
    for (int i = 0; i < 100; i++)
        count(&tally, read(fd, bytes, 8 * MIB), 8 * MIB, 0);
    tell("read from /dev/zero", &tally);
}

static void test_file(void)
{
    struct tally writes = {0}, reads = {0}, vectors = {0}, syncs = {0};
    char *bytes = buffer();
    int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0, "file");
    for (int i = 0; i < ROUNDS; i++) {
        struct iovec parts[2] = {{bytes, MIB / 2}, {bytes + MIB / 2, MIB / 2}};
        count(&writes, pwrite(fd, bytes, MIB, (off_t)i * MIB), MIB, 0);
        count(&vectors, pwritev(fd, parts, 2, (off_t)i * MIB), MIB, 0);
        if (i % 8 == 0)
            count(&syncs, fdatasync(fd), 0, 0);
    }
    must(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "posix_fadvise");
    for (int i = 0; i < ROUNDS; i++) {
        count(&reads, pread(fd, bytes, MIB, (off_t)i * MIB), MIB, 0);
    }
    tell("pwrite", &writes);
    tell("pwritev", &vectors);
    tell("fdatasync", &syncs);
    tell("pread", &reads);
}

static void test_direct(void)
{
    struct tally writes = {0}, reads = {0};
    void *bytes;
    int fd = open("direct", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (fd < 0) {
        printf("no direct I/O here\n");
        return;
    }
    must(!posix_memalign(&bytes, 4096, MIB), "posix_memalign");
    memset(bytes, 5, MIB);
    for (int i = 0; i < ROUNDS; i++)
        count(&writes, pwrite(fd, bytes, MIB, (off_t)i * MIB), MIB, 0);
    for (int i = 0; i < ROUNDS; i++)
        count(&reads, pread(fd, bytes, MIB, (off_t)i * MIB), MIB, 0);
    tell("direct pwrite", &writes);
    tell("direct pread", &reads);
}

static void test_copy(void)
{
    struct tally ranges = {0}, files = {0}, splices = {0};
    char *bytes = buffer();
    int fds[2], from = open("from", O_RDWR | O_CREAT | O_TRUNC, 0600), to = open("to", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(from >= 0 && to >= 0 && !pipe(fds), "open");
    for (int i = 0; i < ROUNDS; i++)
        must(write(from, bytes, MIB) == MIB, "write");
    for (int i = 0; i < ROUNDS; i++) {
        off_t in = (off_t)i * MIB, out = in;
        count(&ranges, copy_file_range(from, &in, to, &out, MIB, 0), MIB, 0);
    }
    must(lseek(to, 0, SEEK_SET) == 0, "lseek");
    for (int i = 0; i < ROUNDS; i++) {
        off_t in = (off_t)i * MIB;
        count(&files, sendfile(to, from, &in, MIB), MIB, 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        loff_t in = (loff_t)i * MIB;
        count(&splices, splice(from, &in, fds[1], NULL, 4096, 0), 4096, 0);
        must(read(fds[0], bytes, MIB) == 4096, "read");
    }
    tell("copy_file_range", &ranges);
    tell("sendfile", &files);
    tell("splice", &splices);
}

static void test_mapped(void)
{
    int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0 && !ftruncate(fd, 8 * MIB), "mapped");
    unsigned char *bytes = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(bytes != MAP_FAILED, "mmap");
    for (int i = 0; i < 8 * MIB; i += 64)
        bytes[i] = (unsigned char)(i / 64);
    struct tally syncs = {0};
    count(&syncs, msync(bytes, 8 * MIB, MS_SYNC), 0, 0);
    unsigned long sum = 0;
    for (int i = 0; i < 8 * MIB; i += 64)
        sum = sum * 31 + bytes[i];
    printf("sum %lx\n", sum);
    tell("msync", &syncs);
}

static void make_files(int fd)
{
    (void)fd;
    for (int i = 0; i < 50; i++) {
        char name[32];
        snprintf(name, sizeof name, "dir/%d", i);
        sleep_ms(5);
        int file = open(name, O_WRONLY | O_CREAT, 0600);
        must(file >= 0, name);
        close(file);
    }
}

static void test_inotify(void)
{
    long created = 0, others = 0;
    int fd = inotify_init1(0);
    must(!mkdir("dir", 0700) && inotify_add_watch(fd, "dir", IN_CREATE) >= 0, "inotify");
    pid_t child = start(make_files, -1);
    while (created < 50) {
        char bytes[4096];
        ssize_t length = read(fd, bytes, sizeof bytes);
        if (length <= 0) {
            others++;
            continue;
        }
        for (char *at = bytes; at < bytes + length;) {
            struct inotify_event *event = (struct inotify_event *)at;
            created++;
            at += sizeof *event + event->len;
        }
    }
    end(child);
    printf("%ld files, %ld other results of read\n", created, others);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"pipe", test_pipe},     {"socket", test_socket}, {"random", test_random}, {"zero", test_zero},
        {"file", test_file},     {"direct", test_direct}, {"copy", test_copy},     {"mapped", test_mapped},
        {"inotify", test_inotify}, {0},
    };
    return run_named(tests, argc, argv);
}
