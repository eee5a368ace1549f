/* Packets. */
#include "common.h"
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

/* ADDRESS PORT SECONDS CORE PACKETS_PER_SECOND(0: as many as go) */
int role_blast(char **words)
{
    enum { BATCH = 64 };
    static char payload[64];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    struct iovec part = {payload, sizeof payload};
    struct mmsghdr batch[BATCH];
    double end = now() + atof(words[2]), pace = atof(words[4]), due = now();
    inet_pton(AF_INET, words[0], &to.sin_addr);
    pin_to(atoi(words[3]));
    int room = 8 << 20;  /* more than the receiving core keeps: it isn't held back, they are dropped */
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    for (int i = 0; i < BATCH; i++)
        batch[i] = (struct mmsghdr){{&to, sizeof to, &part, 1, 0, 0, 0}, 0};
    while (now() < end) {
        sendmmsg(s, batch, BATCH, 0);
        if (pace > 0) {
            due += BATCH / pace;
            wait_until(due);
        }
    }
    return 0;
}

/* COUNT PORT: so many taps, each of which looks long at every packet and drops it; and a socket that
   takes what is sent to the port. */
int role_sink(char **words)
{
    int count = atoi(words[0]);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    static struct sock_filter code[BPF_MAXINSNS];
    struct sock_fprog filter = {BPF_MAXINSNS, code};
    for (int i = 0; i < BPF_MAXINSNS - 1; i++)
        code[i] = (struct sock_filter){BPF_ALU | BPF_ADD | BPF_K, 0, 0, i};
    code[BPF_MAXINSNS - 1] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, 0};
    for (int i = 0; i < count; i++) {
        int s = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
        if (s < 0) {
            perror("packet socket");
            return 1;
        }
        if (setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
            perror("filter");
            return 1;
        }
    }
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(s, (struct sockaddr *)&at, sizeof at) != 0)
        return 1;
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}
