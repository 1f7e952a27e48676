// Two processes share a route. One is killed in the middle; the other notices, and a new sender goes
// on with the same segment.
#include <blitz.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct reading {
    int process;
    int number;
};

static char name[64];

static void must(int result, const char *what) {
    if (result == BLITZ_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, blitz_strerror(result), blitz_last_error());
    exit(1);
}

static pid_t start_sender(int number, int die_after) {
    pid_t child = fork();
    if (child != 0) return child;
    blitz_ipc_settings settings = {.size = sizeof(blitz_ipc_settings), .kind = BLITZ_IPC_ROUTE, .must_exist = true};
    blitz_ipc_sender *sender;
    must(blitz_ipc_sender_open(name, &settings, &sender), "sender");
    for (int i = 1; i <= 1000; i++) {
        void *room;
        must(blitz_ipc_loan(sender, sizeof(struct reading), BLITZ_NEVER, &room), "loan");
        *(struct reading *)room = (struct reading){number, i};
        must(blitz_ipc_loan_send(sender, sizeof(struct reading)), "send");
        if (i == die_after) raise(SIGKILL);
    }
    blitz_ipc_sender_free(sender);
    _exit(0);
}

static int receive_all(blitz_ipc_receiver *receiver, int process) {
    int received = 0, result;
    const void *message;
    size_t len;
    while ((result = blitz_ipc_take(receiver, BLITZ_NEVER, &message, &len)) == BLITZ_OK) {
        const struct reading *reading = message;
        if (len != sizeof *reading || reading->process != process || reading->number != ++received)
            abort();
        must(blitz_ipc_release(receiver), "release");
    }
    if (result != BLITZ_ECLOSED) must(result, "take");
    return received;
}

int main(void) {
    blitz_ipc_settings settings = {.size = sizeof(blitz_ipc_settings), .kind = BLITZ_IPC_ROUTE, .capacity = 64, .max_len = 64};
    blitz_ipc_receiver *receiver;
    int status;
    snprintf(name, sizeof name, "example-%d", (int)getpid());
    must(blitz_ipc_receiver_open(name, &settings, &receiver), "receiver");

    pid_t first = start_sender(1, 500);
    // Until a sender has joined there is none, which looks the same as that all have left.
    int before = 0;
    while ((before = receive_all(receiver, 1)) == 0) blitz_sleep_ns(1000000);
    if (waitpid(first, &status, 0) != first || !WIFSIGNALED(status)) abort();
    printf("the first sender was killed, and its %d messages are here\n", before);

    pid_t second = start_sender(2, 0);
    int after = 0;
    while ((after = receive_all(receiver, 2)) == 0) blitz_sleep_ns(1000000);
    if (waitpid(second, &status, 0) != second || !WIFEXITED(status)) abort();
    printf("the second sent %d\n", after);
    blitz_ipc_receiver_free(receiver);
    return before == 500 && after == 1000 ? 0 : 1;
}
