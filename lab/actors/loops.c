/* Whoever dies again and again, and whoever starts it again. */
#include "common.h"
#include <arpa/inet.h>
#include <limits.h>
#include <sys/socket.h>

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        perror(path);
    close(fd);
}

/* A memory cgroup of its own that a page on a tmpfs outlives. */
static void leave_one(const char *parent, const char *tmpfs, int number)
{
    static char page[4096];
    char folder[PATH_MAX], path[PATH_MAX + 32];
    snprintf(folder, sizeof folder, "%s/w%d-%d", parent, getpid(), number);
    if (mkdir(folder, 0755) != 0) {
        perror(folder);
        return;
    }
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    put(path, "0");
    snprintf(path, sizeof path, "%s/%d-%d", tmpfs, getpid(), number);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (write(fd, page, sizeof page) < 0)
        perror(path);
    close(fd);
    snprintf(path, sizeof path, "%s/../cgroup.procs", parent);
    put(path, "0");
    if (rmdir(folder) != 0)
        perror(folder);
}

/* LIFE_SECONDS PORT(0: none) [PARENT TMPFS COUNT]: dies of an error when its life is over. */
int role_service(char **words)
{
    double end = now() + atof(words[0]);
    int port = atoi(words[1]);
    if (words[2])
        for (int i = 0; i < atoi(words[4]); i++)
            leave_one(words[2], words[3], i);
    if (!port) {
        wait_until(end);
        return 3;
    }
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience;
    int yes = 1, s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(s, (struct sockaddr *)&at, sizeof at) != 0 || listen(s, 16) != 0)
        return 4;
    for (double left; (left = end - now()) > 0;) {
        patience = (struct timeval){(time_t)left, (suseconds_t)((left - floor(left)) * 1e6) + 1};
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        int one = accept4(s, 0, 0, SOCK_CLOEXEC);
        if (one >= 0) {
            if (write(one, "ok\n", 3) < 0)
                perror("answer");
            close(one);
        }
    }
    return 3;
}

/* SECONDS EVERY_SECONDS PROGRAM WORDS...: starts it again each time it is gone. */
int role_supervise(char **words)
{
    double end = now() + atof(words[0]), every = atof(words[1]), due = now();
    while (now() < end) {
        pid_t child = vfork();
        if (child == 0) {
            execv(words[2], words + 2);
            _exit(127);
        }
        if (child > 0)
            waitpid(child, 0, 0);
        due += every;
        if (due < now())
            due = now();
        wait_until(due);
    }
    for (;;)
        pause();
}
