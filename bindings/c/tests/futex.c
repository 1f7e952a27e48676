// The futex, with threads and with fibers that wait for the same words.
#include "check.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4, ROUNDS = 2000 };

// The interface takes pointers to the plain type.
static const uint32_t *plain(const _Atomic uint32_t *word) { return (const uint32_t *)word; }

static _Atomic uint32_t lock;
static long counted;

static void *lock_and_count(void *argument) {
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        // The mutex of Ulrich Drepper's "Futexes are tricky": 0 free, 1 locked, 2 with waiters.
        uint32_t seen = 0;
        if (!atomic_compare_exchange_strong(&lock, &seen, 1)) {
            while (atomic_exchange(&lock, 2) != 0) {
                int result = blitz_futex_wait(plain(&lock), 2, BLITZ_FUTEX_PRIVATE);
                CHECK(result == BLITZ_OK || result == BLITZ_ECHANGED);
            }
        }
        counted++;
        if (i % 64 == 0) blitz_yield();
        if (atomic_exchange(&lock, 0) == 2) OK(blitz_futex_wake_one(plain(&lock), BLITZ_FUTEX_PRIVATE));
    }
    return NULL;
}

static void mutex_of_a_word(void) {
    struct worker workers[WORKERS];
    counted = 0;
    for (int i = 0; i < WORKERS; i++) start(&workers[i], lock_and_count, NULL);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(counted == WORKERS * ROUNDS);
}

static void *times_out_body(void *argument) {
    _Atomic uint32_t *word = argument;
    EXPECT(BLITZ_ECHANGED, blitz_futex_wait(plain(word), 6, BLITZ_FUTEX_PRIVATE));
    uint64_t deadline = after_ms(10);
    EXPECT(BLITZ_ETIMEDOUT, blitz_futex_wait_until(plain(word), 5, BLITZ_FUTEX_PRIVATE, deadline));
    CHECK(blitz_now_ns() >= deadline);
    EXPECT(BLITZ_ETIMEDOUT,
           blitz_futex_wait_until(plain(word), 5, BLITZ_FUTEX_SHARED, after_ms(70)));
    EXPECT(BLITZ_ECHANGED, blitz_futex_wait(plain(word), 6, BLITZ_FUTEX_SHARED));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait(plain(word), 5, 9));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait(NULL, 5, BLITZ_FUTEX_PRIVATE));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait((const uint32_t *)((const char *)word + 1), 5, 0));
    return NULL;
}

static void times_out(void) {
    _Atomic uint32_t word = 5;
    struct worker worker;
    start(&worker, times_out_body, &word);
    finish(&worker);
}

static _Atomic uint32_t words[8];

static void *wait_any_body(void *argument) {
    blitz_futex_waiter waiters[8];
    uint32_t rounds = (uint32_t)(size_t)argument;
    for (uint32_t round = 0; round < rounds; round++) {
        for (int i = 0; i < 8; i++) waiters[i] = (blitz_futex_waiter){plain(&words[i]), 0};
        size_t index = 99;
        uint32_t value = 0;
        while (value == 0) {
            int result = blitz_futex_wait_any(waiters, 8, BLITZ_FUTEX_PRIVATE, BLITZ_NEVER, &index);
            CHECK(result == BLITZ_OK || result == BLITZ_ECHANGED);
            CHECK(index < 8);
            value = atomic_load(&words[index]);
        }
        CHECK(index == round % 8 && value == round + 1);
        atomic_store(&words[index], 0);
        OK(blitz_futex_wake_all(plain(&words[index]), BLITZ_FUTEX_PRIVATE));
    }
    // Of other words: the last wake-up of the rounds may still come.
    static _Atomic uint32_t quiet[8];
    for (int i = 0; i < 8; i++) waiters[i].word = plain(&quiet[i]);
    size_t index;
    EXPECT(BLITZ_ETIMEDOUT, blitz_futex_wait_any(waiters, 8, BLITZ_FUTEX_PRIVATE, after_ms(5), &index));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait_any(waiters, 0, BLITZ_FUTEX_PRIVATE, 0, &index));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait_any(waiters, 129, BLITZ_FUTEX_PRIVATE, 0, &index));
    return NULL;
}

static void waits_for_any(void) {
    struct worker worker;
    start(&worker, wait_any_body, (void *)300);
    for (uint32_t round = 0; round < 300; round++) {
        _Atomic uint32_t *word = &words[round % 8];
        atomic_store(word, round + 1);
        OK(blitz_futex_wake_one(plain(word), BLITZ_FUTEX_PRIVATE));
        uint32_t value;
        OK(blitz_futex_block_until_different(plain(word), round + 1, BLITZ_FUTEX_PRIVATE,
                                             BLITZ_NEVER, &value));
        CHECK(value == 0);
    }
    finish(&worker);
}

static _Atomic uint32_t turn;

static void *take_turns(void *argument) {
    for (uint32_t round = 1; round < 1000; round += 2) {
        int seen;
        do {
            seen = blitz_futex_spin_until_different(plain(&turn), round - 1, 2);
        } while (seen == BLITZ_EAGAIN);
        OK(seen);
        CHECK(atomic_load(&turn) == round);
        atomic_store(&turn, round + 1);
    }
    return argument;
}

static void spins(void) {
    uint32_t word = 1;
    OK(blitz_futex_spin_until_different(&word, 0, 2));
    EXPECT(BLITZ_EAGAIN, blitz_futex_spin_until_different(&word, 1, 2));
    EXPECT(BLITZ_EAGAIN, blitz_futex_spin_until_different(&word, 1, SIZE_MAX));
    atomic_store(&turn, 0);
    struct worker worker;
    start(&worker, take_turns, NULL);
    for (uint32_t round = 0; round < 1000; round += 2) {
        while (blitz_futex_spin_until_different(plain(&turn), round - 1, 2) == BLITZ_EAGAIN ||
               atomic_load(&turn) != round) {
        }
        atomic_store(&turn, round + 1);
    }
    finish(&worker);
}

static _Atomic uint32_t broadcast;
static atomic_int released;

static void *wait_broadcast(void *argument) {
    (void)argument;
    uint32_t value;
    OK(blitz_futex_block_until_different(plain(&broadcast), 0, BLITZ_FUTEX_PRIVATE, BLITZ_NEVER, &value));
    CHECK(value == 1);
    atomic_fetch_add(&released, 1);
    return NULL;
}

static void wakes_all(void) {
    struct worker workers[WORKERS];
    atomic_store(&broadcast, 0);
    atomic_store(&released, 0);
    for (int i = 0; i < WORKERS; i++) start(&workers[i], wait_broadcast, NULL);
    blitz_sleep_ns(2000000);
    CHECK(atomic_load(&released) == 0);
    atomic_store(&broadcast, 1);
    size_t woken;
    OK(blitz_futex_wake(plain(&broadcast), SIZE_MAX, BLITZ_FUTEX_PRIVATE, &woken));
    CHECK(woken <= WORKERS);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(atomic_load(&released) == WORKERS);
    OK(blitz_futex_wake(plain(&broadcast), 1, BLITZ_FUTEX_PRIVATE, &woken));
    CHECK(woken == 0);
}

static void *wait_shared(void *argument) {
    _Atomic uint32_t *word = argument;
    uint32_t value;
    OK(blitz_futex_block_until_different(plain(word), 0, BLITZ_FUTEX_SHARED, BLITZ_NEVER, &value));
    CHECK(value == 3);
    return NULL;
}

static void another_process_wakes(void) {
    _Atomic uint32_t *word =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(word != MAP_FAILED);
    struct worker worker;
    start(&worker, wait_shared, word);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        atomic_store(word, 3);
        _exit(blitz_futex_wake_all(plain(word), BLITZ_FUTEX_SHARED) == BLITZ_OK ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    finish(&worker);
    munmap(word, 4096);
}

int main(void) {
    static const struct test tests[] = {
        {"mutex_of_a_word", mutex_of_a_word},
        {"times_out", times_out},
        {"waits_for_any", waits_for_any},
        {"wakes_all", wakes_all},
        {"spins", spins},
        {"another_process_wakes", another_process_wakes},
    };
    return RUN_TESTS(tests);
}
