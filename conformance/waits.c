/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls that wait with a time limit: each has to end by its limit or by what it waits for, never by EINTR. */
#include "calls.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/timerfd.h>

enum { ROUNDS = 25, LIMIT_MS = 25 };

static void test_epoll(void)
{
    struct tally tally = {0};
    struct epoll_event event;
    int epoll = epoll_create1(0);
    must(epoll >= 0, "epoll_create1");
    for (int i = 0; i < ROUNDS; i++)
        count(&tally, epoll_wait(epoll, &event, 1, LIMIT_MS), 0, 0);
    tell("epoll_wait", &tally);
}

static void test_poll(void)
{
    struct tally polls = {0}, ppolls = {0}, selects = {0};
    int fds[2];
    must(!pipe(fds), "pipe");
    for (int i = 0; i < ROUNDS; i++) {
        struct pollfd fd = {fds[0], POLLIN, 0};
        struct timespec span = span_of_ms(LIMIT_MS);
        struct timeval limit = {0, LIMIT_MS * 1000};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(fds[0], &set);
        count(&polls, poll(&fd, 1, LIMIT_MS), 0, 0);
        count(&ppolls, ppoll(&fd, 1, &span, NULL), 0, 0);
        count(&selects, select(fds[0] + 1, &set, NULL, NULL, &limit), 0, 0);
    }
    tell("poll", &polls);
    tell("ppoll", &ppolls);
    tell("select", &selects);
}

static void test_semaphore(void)
{
    struct tally tally = {0};
    int id = semget(IPC_PRIVATE, 1, 0600);
    must(id >= 0, "semget");
    for (int i = 0; i < ROUNDS; i++) {
        struct sembuf down = {0, -1, 0};
        struct timespec span = span_of_ms(LIMIT_MS);
        count(&tally, semtimedop(id, &down, 1, &span), -1, EAGAIN);
    }
    semctl(id, 0, IPC_RMID);
    tell("semtimedop", &tally);
}

static void test_sigtimedwait(void)
{
    struct tally tally = {0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec span = span_of_ms(LIMIT_MS);
        count(&tally, sigtimedwait(&set, NULL, &span), -1, EAGAIN);
    }
    tell("sigtimedwait", &tally);
}

static void test_aio(void)
{
    struct tally tally = {0};
    aio_context_t context = 0;
    must(!syscall(SYS_io_setup, 8, &context), "io_setup");
    for (int i = 0; i < ROUNDS; i++) {
        struct io_event event;
        struct timespec span = span_of_ms(LIMIT_MS);
        count(&tally, syscall(SYS_io_getevents, context, 1, 1, &event, &span), 0, 0);
    }
    syscall(SYS_io_destroy, context);
    tell("io_getevents", &tally);
}

static void test_recv(void)
{
    struct tally recvs = {0}, accepts = {0};
    struct timeval limit = {0, LIMIT_MS * 1000};
    int fds[2];
    must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
    must(!setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), "SO_RCVTIMEO");
    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(!bind(server, (struct sockaddr *)&any, sizeof any) && !listen(server, 1), "listen");
    must(!setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), "SO_RCVTIMEO");
    for (int i = 0; i < ROUNDS; i++) {
        char byte;
        count(&recvs, recv(fds[0], &byte, 1, 0), -1, EAGAIN);
        count(&accepts, accept(server, NULL, NULL), -1, EAGAIN);
    }
    tell("recv", &recvs);
    tell("accept", &accepts);
}

static void test_sleep(void)
{
    struct tally nanosleeps = {0}, clocks = {0}, usleeps = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec span = span_of_ms(LIMIT_MS), now;
        count(&nanosleeps, nanosleep(&span, NULL), 0, 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
        now.tv_nsec += LIMIT_MS * 1000000;
        now.tv_sec += now.tv_nsec / 1000000000;
        now.tv_nsec %= 1000000000;
        count(&clocks, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, NULL), 0, 0);
        count(&usleeps, usleep(LIMIT_MS * 1000), 0, 0);
    }
    tell("nanosleep", &nanosleeps);
    tell("clock_nanosleep", &clocks);
    tell("usleep", &usleeps);
}

static void test_futex(void)
{
    struct tally tally = {0};
    unsigned word = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec span = span_of_ms(LIMIT_MS);
        count(&tally, syscall(SYS_futex, &word, FUTEX_WAIT, 0, &span, NULL, 0), -1, ETIMEDOUT);
    }
    tell("futex", &tally);
}

static void test_message_queue(void)
{
    struct tally tally = {0};
    char name[64], message[16];
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = sizeof message};
    snprintf(name, sizeof name, "/conformance-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    must(queue != (mqd_t)-1, "mq_open");
    mq_unlink(name);
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        now.tv_nsec += LIMIT_MS * 1000000;
        now.tv_sec += now.tv_nsec / 1000000000;
        now.tv_nsec %= 1000000000;
        count(&tally, mq_timedreceive(queue, message, sizeof message, NULL, &now), -1, ETIMEDOUT);
    }
    tell("mq_timedreceive", &tally);
}

static int queue_id;

static void send_messages(int fd)
{
    (void)fd;
    for (int i = 0; i < ROUNDS; i++) {
        struct {
            long type;
            int value;
        } message = {1, i};
        sleep_ms(LIMIT_MS);
        must(!msgsnd(queue_id, &message, sizeof message.value, 0), "msgsnd");
    }
}

/* What waits without a limit for a child that takes its time. */
static void test_msgrcv(void)
{
    struct tally tally = {0};
    queue_id = msgget(IPC_PRIVATE, 0600);
    must(queue_id >= 0, "msgget");
    pid_t child = start(send_messages, -1);
    for (int i = 0; i < ROUNDS; i++) {
        struct {
            long type;
            int value;
        } message;
        count(&tally, msgrcv(queue_id, &message, sizeof message.value, 0, 0), sizeof message.value, 0);
    }
    end(child);
    msgctl(queue_id, IPC_RMID, NULL);
    tell("msgrcv", &tally);
}

static void test_timerfd(void)
{
    struct tally tally = {0};
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    must(fd >= 0, "timerfd_create");
    for (int i = 0; i < ROUNDS; i++) {
        struct itimerspec once = {.it_value = span_of_ms(LIMIT_MS)};
        unsigned long expired = 0;
        must(!timerfd_settime(fd, 0, &once, NULL), "timerfd_settime");
        count(&tally, read(fd, &expired, sizeof expired), sizeof expired, 0);
        if (expired != 1)
            printf("expired %lu times\n", expired);
    }
    tell("timerfd", &tally);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        {"epoll", test_epoll},       {"poll", test_poll},       {"semaphore", test_semaphore},
        {"aio", test_aio},           {"recv", test_recv},       {"sigtimedwait", test_sigtimedwait},
        {"sleep", test_sleep},       {"futex", test_futex},     {"message-queue", test_message_queue},
        {"msgrcv", test_msgrcv},     {"timerfd", test_timerfd}, {0},
    };
    return run_named(tests, argc, argv);
}
