/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The disk's other users while a program of the suite runs.
 *
 *   beside foreground FILE        small direct reads with a short pause, until killed
 *   beside leak FILE COMMAND...   runs COMMAND, and beside it, until it ends, reads that go around lull's request gate: they are
 *                                 why lull holds the whole job. Begins when the job is held
 *   beside awake COMMAND...       runs COMMAND without the idle CPU class: on a machine that others keep busy it would hardly run
 */
#include "calls.h"

#include <sched.h>
#include <sys/resource.h>

static void read_for_ever(const char *path, long pause_us, pid_t while_lives)
{
    void *bytes;
    struct stat stat;
    unsigned long state = 1;
    int fd = open(path, O_RDONLY | O_DIRECT);
    must(fd >= 0 && !fstat(fd, &stat) && !posix_memalign(&bytes, 4096, 4096), path);
    while (!while_lives || !kill(while_lives, 0)) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        off_t block = (off_t)((state >> 20) % (unsigned long)(stat.st_size / 4096));
        must(pread(fd, bytes, 4096, block * 4096) == 4096, "pread");
        if (pause_us)
            usleep((useconds_t)pause_us);
    }
}

/* The first line of a file of this process's CPU group, version 2 or 1; false if there is none. */
static int group_file(const char *name, const char *value, char *text, int length)
{
    char line[4096], path[8192];
    FILE *groups = fopen("/proc/self/cgroup", "r");
    int found = 0;
    while (groups && !found && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':') + 1, *group = strchr(controllers, ':');
        *group++ = 0;
        static const char *const mounts[] = {"", "/unified", "/cpu", "/cpu,cpuacct"};
        for (int i = 0; i < 4 && !found; i++) {
            if ((i < 2) != !*controllers || (i >= 2 && strcmp(controllers, mounts[i] + 1)))
                continue;
            snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/%s", mounts[i], group, name);
            FILE *file = fopen(path, value ? "r+" : "r");
            if (file) {
                found = value ? fputs(value, file) >= 0 : fgets(text, length, file) != NULL;
                fclose(file);
            }
        }
    }
    if (groups)
        fclose(groups);
    return found;
}

static int is_held(void)
{
    char text[64];
    return (group_file("cpu.max", NULL, text, sizeof text) || group_file("cpu.cfs_quota_us", NULL, text, sizeof text)) &&
           !strncmp(text, "1000", 4) && (text[4] == ' ' || text[4] == '\n');
}

static int execute(char **command)
{
    execvp(command[0], command);
    perror(command[0]);
    return 127;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && !strcmp(argv[1], "awake")) {
        struct sched_param none = {0};
        group_file("cpu.idle", "0", NULL, 0);
        sched_setscheduler(0, SCHED_OTHER, &none);
        setpriority(PRIO_PROCESS, 0, 0);
        return execute(argv + 2);
    }
    if (argc == 3 && !strcmp(argv[1], "foreground")) {
        read_for_ever(argv[2], 200, 0);
    } else if (argc >= 4 && !strcmp(argv[1], "leak")) {
        pid_t command = getpid(), child = fork();
        must(child >= 0, "fork");
        if (!child) {
            /* Nobody's child: COMMAND shall find none that it did not start. */
            if (!fork()) {
                for (int fd = 0; fd < 3; fd++)
                    close(fd);
                open("/dev/null", O_RDWR);
                dup(0), dup(0);
                read_for_ever(argv[2], 0, command);
            }
            _exit(0);
        }
        must(waitpid(child, NULL, 0) == child, "waitpid");
        /* Until lull has its sensors and holds. Who is frozen does not see it. */
        for (time_t end = time(NULL) + 20; time(NULL) < end && !is_held();)
            sleep_ms(5);
        return execute(argv + 3);
    }
    return 2;
}
