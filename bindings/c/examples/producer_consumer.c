// Threads produce, fibers consume: both ends of a channel wait in the same functions.
#include <blitz.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PRODUCERS = 2, CONSUMERS = 3, JOBS = 10000 };

struct job {
    char name[24];
    uint64_t number;
};

static void must(int result, const char *what) {
    if (result == BLITZ_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, blitz_strerror(result), blitz_last_error());
    exit(1);
}

static void *produce(void *argument) {
    blitz_sender *sender = argument;
    struct job job = {"a job", 0};
    for (job.number = 1; job.number <= JOBS; job.number++) must(blitz_send(sender, &job), "send");
    // The channel is closed when the last sender is freed.
    blitz_sender_free(sender);
    return NULL;
}

static void *consume(void *argument) {
    blitz_receiver *receiver = argument;
    struct job job;
    uint64_t sum = 0;
    int result;
    while ((result = blitz_recv(receiver, &job)) == BLITZ_OK) sum += job.number;
    if (result != BLITZ_ECLOSED) must(result, "recv");
    blitz_receiver_free(receiver);
    return (void *)(uintptr_t)sum;
}

int main(void) {
    blitz_sender *sender, *senders[PRODUCERS];
    blitz_receiver *receiver, *receivers[CONSUMERS];
    pthread_t producers[PRODUCERS];
    blitz_task *consumers[CONSUMERS];
    must(blitz_mpmc_new(sizeof(struct job), 64, &sender, &receiver), "channel");
    for (int i = 0; i < CONSUMERS; i++) {
        must(blitz_receiver_clone(receiver, &receivers[i]), "clone");
        must(blitz_spawn(NULL, NULL, consume, receivers[i], &consumers[i]), "spawn");
    }
    for (int i = 0; i < PRODUCERS; i++) {
        must(blitz_sender_clone(sender, &senders[i]), "clone");
        if (pthread_create(&producers[i], NULL, produce, senders[i]) != 0) return 1;
    }
    blitz_sender_free(sender);
    blitz_receiver_free(receiver);

    uint64_t sum = 0;
    for (int i = 0; i < PRODUCERS; i++) pthread_join(producers[i], NULL);
    for (int i = 0; i < CONSUMERS; i++) {
        void *part;
        must(blitz_task_join(consumers[i], BLITZ_NEVER, &part), "join");
        sum += (uintptr_t)part;
    }
    printf("the jobs add up to %llu\n", (unsigned long long)sum);
    return sum == (uint64_t)PRODUCERS * JOBS * (JOBS + 1) / 2 ? 0 : 1;
}
