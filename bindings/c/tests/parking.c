// Queues under addresses: a lock of one byte and a condition variable on them, with threads and fibers.
#include "check.h"

enum { WORKERS = 4, ROUNDS = 2000 };

// The mutex of Ulrich Drepper's "Futexes are tricky": 0 free, 1 locked, 2 with waiters. Its queue is under
// its address.
static _Atomic uint8_t lock;

static bool has_waiters(void *argument) {
    (void)argument;
    return atomic_load(&lock) == 2;
}

static void lock_contended(void) {
    const blitz_park_callbacks callbacks = {.validate = has_waiters};
    while (atomic_exchange(&lock, 2) != 0) {
        int result = blitz_park((void *)&lock, &callbacks, NULL, 0, BLITZ_NEVER, NULL);
        CHECK(result == BLITZ_OK || result == BLITZ_ECHANGED);
    }
}

static void lock_byte(void) {
    uint8_t seen = 0;
    if (!atomic_compare_exchange_strong(&lock, &seen, 1)) lock_contended();
}

static void unlock_byte(void *argument) {
    (void)argument;
    if (atomic_exchange(&lock, 0) == 2) OK(blitz_unpark_one((void *)&lock, NULL, NULL, NULL));
}

static long counted;

static void *lock_and_count(void *argument) {
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        lock_byte();
        counted++;
        if (i % 64 == 0) blitz_yield();
        unlock_byte(NULL);
    }
    return NULL;
}

static void mutex_of_a_byte(void) {
    struct worker workers[WORKERS];
    counted = 0;
    for (int i = 0; i < WORKERS; i++) start(&workers[i], lock_and_count, NULL);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(counted == WORKERS * ROUNDS && lock == 0);
}

// A condition variable, whose waiters move on to the lock.
static char condition;
static atomic_int waiting;
static bool open_gate;

static bool count_waiting(void *argument) {
    (void)argument;
    waiting++;
    return true;
}

static void *wait_for_gate(void *argument) {
    const blitz_park_callbacks callbacks = {.validate = count_waiting, .before_sleep = unlock_byte};
    lock_byte();
    while (!open_gate) {
        OK(blitz_park(&condition, &callbacks, NULL, 0, BLITZ_NEVER, NULL));
        lock_contended();
    }
    counted++;
    unlock_byte(NULL);
    return argument;
}

static uint32_t choose(void *argument) {
    (void)argument;
    uint8_t seen = 1;
    // Whoever has the lock now unparks the next one.
    if (atomic_compare_exchange_strong(&lock, &seen, 2) || seen == 2) return BLITZ_REQUEUE_MOVE_ALL;
    return BLITZ_REQUEUE_UNPARK_ONE_MOVE_REST;
}

static size_t see(void *argument, const blitz_unpark_result *result) {
    *(blitz_unpark_result *)argument = *result;
    return 7;
}

static void wait_until(atomic_int *number, int expected) {
    while (atomic_load(number) < expected) OK(blitz_sleep_ns(100000));
}

static void waiters_move_to_the_lock(void) {
    for (int is_locked = 0; is_locked < 2; is_locked++) {
        struct worker workers[WORKERS];
        counted = 0;
        waiting = 0;
        open_gate = false;
        for (int i = 0; i < WORKERS; i++) start(&workers[i], wait_for_gate, NULL);
        wait_until(&waiting, WORKERS);
        lock_byte();
        open_gate = true;
        if (!is_locked) unlock_byte(NULL);
        blitz_unpark_result seen, result;
        OK(blitz_unpark_requeue(&condition, (void *)&lock, choose, see, &seen, &result));
        CHECK(seen.unparked == result.unparked && seen.requeued == result.requeued);
        CHECK(result.unparked + result.requeued == WORKERS && !result.have_more);
        CHECK(is_locked ? result.unparked == 0 : result.unparked <= 1);
        if (is_locked) unlock_byte(NULL);
        for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
        CHECK(counted == WORKERS && lock == 0);
    }
}

// What the callbacks of one wait have seen.
struct seen {
    atomic_int asleep;
    const void *key;
    bool is_last;
    bool validates;
    size_t park_token, unpark_token;
    int result;
    char *address;
    uint64_t deadline;
};

static bool validates(void *argument) { return ((struct seen *)argument)->validates; }
static void fell_asleep(void *argument) { ((struct seen *)argument)->asleep = 1; }
static void left(void *argument, const void *key, bool is_last) {
    struct seen *seen = argument;
    seen->key = key;
    seen->is_last = is_last;
}

static void *park_once(void *argument) {
    struct seen *seen = argument;
    const blitz_park_callbacks callbacks = {validates, fell_asleep, left};
    seen->result = blitz_park(seen->address, &callbacks, seen, seen->park_token, seen->deadline, &seen->unpark_token);
    return NULL;
}

static void a_wait_ends_without_an_unpark(void) {
    static char key;
    struct seen seen = {.address = &key, .deadline = BLITZ_NEVER};
    struct worker worker;
    start(&worker, park_once, &seen);
    finish(&worker);
    CHECK(seen.result == BLITZ_ECHANGED && !seen.asleep && seen.key == NULL);

    seen.validates = true;
    seen.deadline = after_ms(5);
    start(&worker, park_once, &seen);
    finish(&worker);
    CHECK(seen.result == BLITZ_ETIMEDOUT && seen.asleep && seen.key == &key && seen.is_last);

    // Nothing of either is left.
    size_t unparked = 9;
    OK(blitz_unpark_all(&key, 0, &unparked));
    CHECK(unparked == 0);
}

static uint32_t move_all(void *argument) {
    (void)argument;
    return BLITZ_REQUEUE_MOVE_ALL;
}

// The first of two, which a requeue has moved, ends by its cancellation, or as a thread by an unpark.
static void a_cancelled_fiber_leaves(void) {
    static char key, other;
    struct seen first = {.address = &key, .deadline = BLITZ_NEVER, .validates = true};
    struct seen second = {.address = &key, .deadline = BLITZ_NEVER, .validates = true};
    struct worker leaves, stays;
    start(&leaves, park_once, &first);
    wait_until(&first.asleep, 1);
    start(&stays, park_once, &second);
    wait_until(&second.asleep, 1);
    blitz_unpark_result result;
    OK(blitz_unpark_requeue(&key, &other, move_all, NULL, NULL, &result));
    CHECK(result.unparked == 0 && result.requeued == 2);
    if (leaves.is_fiber) OK(blitz_task_cancel(leaves.task));
    else OK(blitz_unpark_one(&other, NULL, NULL, NULL));
    const bool is_cancelled = leaves.is_fiber;
    finish(&leaves);
    CHECK(first.result == (is_cancelled ? BLITZ_ECANCELED : BLITZ_OK));
    if (is_cancelled) CHECK(first.key == &other && !first.is_last);
    size_t unparked;
    OK(blitz_unpark_all(&other, 0, &unparked));
    CHECK(unparked == 1);
    finish(&stays);
    CHECK(second.result == BLITZ_OK);
}

struct meeting {
    char *key;
    blitz_unpark_result result;
};

static void *unpark_first(void *argument) {
    struct meeting *meeting = argument;
    OK(blitz_unpark_one(meeting->key, NULL, NULL, &meeting->result));
    return NULL;
}

// A wait ends by an unpark or by a cancellation (of a thread by its deadline), and both ends agree which it was.
static void an_unpark_meets_the_end_of_a_wait(void) {
    static char key;
    for (int round = 0; round < 300; round++) {
        struct seen seen = {.address = &key, .validates = true, .deadline = BLITZ_NEVER};
        struct meeting meeting = {.key = &key};
        struct worker parks, unparks;
        if (flavour != FIBERS) seen.deadline = blitz_now_ns() + 150000;
        start(&parks, park_once, &seen);
        wait_until(&seen.asleep, 1);
        start(&unparks, unpark_first, &meeting);
        if (parks.is_fiber) OK(blitz_task_cancel(parks.task));
        finish(&unparks);
        finish(&parks);
        CHECK(seen.result == BLITZ_OK || seen.result == BLITZ_ECANCELED || seen.result == BLITZ_ETIMEDOUT);
        CHECK(meeting.result.unparked == (seen.result == BLITZ_OK));
    }
}

static uint32_t even(void *argument, size_t park_token) {
    (void)argument;
    if (park_token == 3) return BLITZ_FILTER_STOP;
    return park_token % 2 == 0 ? BLITZ_FILTER_UNPARK : BLITZ_FILTER_SKIP;
}

static void a_filter_chooses(void) {
    static char key;
    struct seen seen[4];
    struct worker workers[4];
    for (size_t i = 0; i < 4; i++) {
        seen[i] = (struct seen){.address = &key, .deadline = BLITZ_NEVER, .validates = true, .park_token = i + 1};
        start(&workers[i], park_once, &seen[i]);
        wait_until(&seen[i].asleep, 1);
    }
    blitz_unpark_result result, told;
    OK(blitz_unpark_filter(&key, even, see, &told, &result));
    CHECK(result.unparked == 1 && result.have_more && told.unparked == 1);
    finish(&workers[1]);
    CHECK(seen[1].result == BLITZ_OK && seen[1].unpark_token == 7);
    OK(blitz_unpark_one(&key, see, &told, &result));
    CHECK(result.unparked == 1 && result.have_more);
    finish(&workers[0]);
    CHECK(seen[0].unpark_token == 7);
    size_t unparked;
    OK(blitz_unpark_all(&key, 8, &unparked));
    CHECK(unparked == 2);
    for (int i = 2; i < 4; i++) {
        finish(&workers[i]);
        CHECK(seen[i].unpark_token == 8);
    }
    OK(blitz_unpark_one(&key, see, &told, &result));
    CHECK(result.unparked == 0 && told.unparked == 0 && !result.have_more);
}

int main(void) {
    const struct test tests[] = {
        {"mutex_of_a_byte", mutex_of_a_byte},
        {"waiters_move_to_the_lock", waiters_move_to_the_lock},
        {"a_wait_ends_without_an_unpark", a_wait_ends_without_an_unpark},
        {"a_cancelled_fiber_leaves", a_cancelled_fiber_leaves},
        {"an_unpark_meets_the_end_of_a_wait", an_unpark_meets_the_end_of_a_wait},
        {"a_filter_chooses", a_filter_chooses},
    };
    return RUN_TESTS(tests);
}
