// The objects by value, with threads and with fibers.
#include "check.h"

#include <stdatomic.h>

// The sizes are part of the interface.
_Static_assert(sizeof(blitz_mutex) == 64 && _Alignof(blitz_mutex) == 8, "mutex");
_Static_assert(sizeof(blitz_rwlock) == 64 && _Alignof(blitz_rwlock) == 8, "rwlock");
_Static_assert(sizeof(blitz_condvar) == 80 && _Alignof(blitz_condvar) == 8, "condvar");
_Static_assert(sizeof(blitz_semaphore) == 64 && _Alignof(blitz_semaphore) == 8, "semaphore");
_Static_assert(sizeof(blitz_barrier) == 80 && _Alignof(blitz_barrier) == 8, "barrier");
_Static_assert(sizeof(blitz_latch) == 80 && _Alignof(blitz_latch) == 8, "latch");
_Static_assert(sizeof(blitz_event) == 80 && _Alignof(blitz_event) == 8, "event");
_Static_assert(sizeof(blitz_once) == 80 && _Alignof(blitz_once) == 8, "once");
_Static_assert(sizeof(blitz_parker) == 80 && _Alignof(blitz_parker) == 8, "parker");

enum { WORKERS = 6, ROUNDS = 2000 };

struct counter {
    blitz_mutex mutex;
    long value;
};

static void *add(void *argument) {
    struct counter *counter = argument;
    for (int i = 0; i < ROUNDS; i++) {
        OK(blitz_mutex_lock(&counter->mutex));
        long seen = counter->value;
        if (i % 64 == 0) blitz_yield();
        counter->value = seen + 1;
        OK(blitz_mutex_unlock(&counter->mutex));
    }
    return NULL;
}

static void mutex_excludes(void) {
    struct counter counter = {BLITZ_MUTEX_INIT, 0};
    struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) start(&workers[i], add, &counter);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(counter.value == WORKERS * ROUNDS);
}

static void *mutex_times_out_body(void *argument) {
    blitz_mutex *mutex = argument;
    uint64_t deadline = after_ms(20);
    EXPECT(BLITZ_ETIMEDOUT, blitz_mutex_lock_until(mutex, deadline));
    CHECK(blitz_now_ns() >= deadline);
    EXPECT(BLITZ_ETIMEDOUT, blitz_mutex_lock_until(mutex, 0));
    EXPECT(BLITZ_EAGAIN, blitz_mutex_try_lock(mutex));
    return NULL;
}

static void mutex_times_out(void) {
    static blitz_mutex mutex = BLITZ_MUTEX_INIT;
    struct worker worker;
    OK(blitz_mutex_try_lock(&mutex));
    start(&worker, mutex_times_out_body, &mutex);
    finish(&worker);
    OK(blitz_mutex_unlock(&mutex));
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(&mutex));
    OK(blitz_mutex_lock_until(&mutex, 0));
    OK(blitz_mutex_unlock(&mutex));
}

struct pair {
    blitz_rwlock lock;
    long a, b;
    atomic_long readers, most;
};

static void *read_pair(void *argument) {
    struct pair *pair = argument;
    for (int i = 0; i < ROUNDS; i++) {
        OK(blitz_rwlock_read(&pair->lock));
        atomic_fetch_add(&pair->readers, 1);
        CHECK(pair->a == pair->b);
        if (i % 64 == 0) blitz_yield();
        CHECK(pair->a == pair->b);
        atomic_fetch_sub(&pair->readers, 1);
        OK(blitz_rwlock_unlock_read(&pair->lock));
    }
    return NULL;
}

static void *write_pair(void *argument) {
    struct pair *pair = argument;
    for (int i = 0; i < ROUNDS; i++) {
        OK(blitz_rwlock_write(&pair->lock));
        CHECK(atomic_load(&pair->readers) == 0);
        pair->a++;
        if (i % 64 == 0) blitz_yield();
        pair->b++;
        OK(blitz_rwlock_unlock_write(&pair->lock));
    }
    return NULL;
}

static void rwlock_excludes_writers(void) {
    struct pair pair = {.lock = BLITZ_RWLOCK_INIT};
    struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) start(&workers[i], i % 3 ? read_pair : write_pair, &pair);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(pair.a == ROUNDS * 2 && pair.b == ROUNDS * 2);

    OK(blitz_rwlock_try_read(&pair.lock));
    OK(blitz_rwlock_read_until(&pair.lock, 0));
    EXPECT(BLITZ_EAGAIN, blitz_rwlock_try_write(&pair.lock));
    EXPECT(BLITZ_ETIMEDOUT, blitz_rwlock_write_until(&pair.lock, after_ms(5)));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&pair.lock));
    OK(blitz_rwlock_unlock_read(&pair.lock));
    OK(blitz_rwlock_unlock_read(&pair.lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(&pair.lock));
}

// The first word of a lock says in its lowest two bits that something waits.
static void wait_for_waiter(uint64_t *space) {
    while ((__atomic_load_n((size_t *)space, __ATOMIC_ACQUIRE) & 3) == 0) blitz_yield();
}

static void *lock_and_unlock(void *argument) {
    blitz_mutex *mutex = argument;
    OK(blitz_mutex_lock(mutex));
    OK(blitz_mutex_unlock(mutex));
    return NULL;
}

static void *read_once(void *argument) {
    blitz_rwlock *lock = argument;
    OK(blitz_rwlock_read(lock));
    OK(blitz_rwlock_unlock_read(lock));
    return NULL;
}

static void *write_once(void *argument) {
    blitz_rwlock *lock = argument;
    OK(blitz_rwlock_write(lock));
    OK(blitz_rwlock_unlock_write(lock));
    return NULL;
}

static void *acquire_three(void *argument) {
    OK(blitz_semaphore_acquire(argument, 3));
    return NULL;
}

// An unlock that does not fit to the state of the object is an error, and changes nothing.
static void a_wrong_unlock_is_an_error(void) {
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    blitz_condvar condvar = BLITZ_CONDVAR_INIT;
    blitz_rwlock lock = BLITZ_RWLOCK_INIT;
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(BLITZ_SEMAPHORE_MAX);
    struct worker worker;

    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(&mutex));
    EXPECT(BLITZ_EINVAL, blitz_condvar_wait(&condvar, &mutex));
    OK(blitz_mutex_lock(&mutex));
    start(&worker, lock_and_unlock, &mutex);
    wait_for_waiter(mutex.space);
    OK(blitz_mutex_unlock(&mutex));
    finish(&worker);
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(&mutex));

    // Free.
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(&lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&lock));
    // Locked for writing.
    OK(blitz_rwlock_write(&lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(&lock));
    EXPECT(BLITZ_EAGAIN, blitz_rwlock_try_read(&lock));
    // The same, and a reader waits.
    start(&worker, read_once, &lock);
    wait_for_waiter(lock.space);
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(&lock));
    EXPECT(BLITZ_EAGAIN, blitz_rwlock_try_read(&lock));
    OK(blitz_rwlock_unlock_write(&lock));
    finish(&worker);
    // Locked for reading.
    OK(blitz_rwlock_read(&lock));
    OK(blitz_rwlock_read(&lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&lock));
    EXPECT(BLITZ_EAGAIN, blitz_rwlock_try_write(&lock));
    // The same, and a writer waits.
    start(&worker, write_once, &lock);
    wait_for_waiter(lock.space);
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&lock));
    OK(blitz_rwlock_unlock_read(&lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&lock));
    OK(blitz_rwlock_unlock_read(&lock));
    finish(&worker);
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(&lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&lock));
    OK(blitz_rwlock_try_write(&lock));

    EXPECT(BLITZ_EINVAL, blitz_semaphore_release(&semaphore, 1));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release(&semaphore, UINT32_MAX));
    OK(blitz_semaphore_acquire(&semaphore, BLITZ_SEMAPHORE_MAX));
    start(&worker, acquire_three, &semaphore);
    wait_for_waiter(semaphore.space);
    OK(blitz_semaphore_release(&semaphore, 2));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release(&semaphore, BLITZ_SEMAPHORE_MAX));
    OK(blitz_semaphore_release(&semaphore, 1));
    finish(&worker);
    CHECK(blitz_semaphore_available(&semaphore) == 0);
}

struct queue {
    blitz_mutex mutex;
    blitz_condvar filled, emptied;
    int values[4], length;
};

static void *produce(void *argument) {
    struct queue *queue = argument;
    for (int i = 1; i <= ROUNDS; i++) {
        OK(blitz_mutex_lock(&queue->mutex));
        while (queue->length == 4) OK(blitz_condvar_wait(&queue->emptied, &queue->mutex));
        queue->values[queue->length++] = i;
        OK(blitz_mutex_unlock(&queue->mutex));
        OK(blitz_condvar_notify_one(&queue->filled));
    }
    return NULL;
}

static void *consume(void *argument) {
    struct queue *queue = argument;
    long sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        OK(blitz_mutex_lock(&queue->mutex));
        while (queue->length == 0) OK(blitz_condvar_wait(&queue->filled, &queue->mutex));
        sum += queue->values[--queue->length];
        OK(blitz_mutex_unlock(&queue->mutex));
        OK(blitz_condvar_notify_one(&queue->emptied));
    }
    return (void *)sum;
}

static void condvar_passes_values(void) {
    struct queue queue = {BLITZ_MUTEX_INIT, BLITZ_CONDVAR_INIT, BLITZ_CONDVAR_INIT, {0}, 0};
    struct worker workers[4];
    for (int i = 0; i < 4; i++) start(&workers[i], i % 2 ? consume : produce, &queue);
    long sum = 0;
    for (int i = 0; i < 4; i++) sum += (long)finish(&workers[i]);
    CHECK(sum == (long)ROUNDS * (ROUNDS + 1));
}

static void *condvar_times_out_body(void *argument) {
    struct queue *queue = argument;
    EXPECT(BLITZ_EINVAL, blitz_condvar_wait(&queue->filled, &queue->mutex));
    OK(blitz_mutex_lock(&queue->mutex));
    EXPECT(BLITZ_ETIMEDOUT,
           blitz_condvar_wait_until(&queue->filled, &queue->mutex, after_ms(5)));
    EXPECT(BLITZ_EAGAIN, blitz_mutex_try_lock(&queue->mutex));
    OK(blitz_mutex_unlock(&queue->mutex));
    return NULL;
}

static void condvar_times_out_with_the_mutex(void) {
    struct queue queue = {.mutex = BLITZ_MUTEX_INIT};
    struct worker worker;
    start(&worker, condvar_times_out_body, &queue);
    finish(&worker);
}

struct gathering {
    blitz_mutex mutex;
    blitz_condvar condvar;
    int waiting;
    bool open;
};

static void *wait_for_all(void *argument) {
    struct gathering *gathering = argument;
    OK(blitz_mutex_lock(&gathering->mutex));
    gathering->waiting++;
    while (!gathering->open) OK(blitz_condvar_wait(&gathering->condvar, &gathering->mutex));
    OK(blitz_mutex_unlock(&gathering->mutex));
    return NULL;
}

static void condvar_wakes_all(void) {
    struct gathering gathering = {.mutex = BLITZ_MUTEX_INIT, .condvar = BLITZ_CONDVAR_INIT};
    struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) start(&workers[i], wait_for_all, &gathering);
    for (bool all = false; !all;) {
        OK(blitz_yield());
        OK(blitz_mutex_lock(&gathering.mutex));
        gathering.open = all = gathering.waiting == WORKERS;
        OK(blitz_mutex_unlock(&gathering.mutex));
    }
    OK(blitz_condvar_notify_all(&gathering.condvar));
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
}

static blitz_semaphore tickets;
static atomic_int inside;

static void *use_tickets(void *argument) {
    uint32_t n = 1 + (uint32_t)(size_t)argument % 3;
    for (int i = 0; i < ROUNDS; i++) {
        OK(blitz_semaphore_acquire(&tickets, n));
        CHECK(atomic_fetch_add(&inside, (int)n) + (int)n <= 3);
        if (i % 64 == 0) blitz_yield();
        atomic_fetch_sub(&inside, (int)n);
        OK(blitz_semaphore_release(&tickets, n));
    }
    return NULL;
}

static void semaphore_limits(void) {
    tickets = (blitz_semaphore)BLITZ_SEMAPHORE_INIT(3);
    struct worker workers[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) start(&workers[i], use_tickets, (void *)i);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(blitz_semaphore_available(&tickets) == 3);
    // No more than it began with.
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release_within(&tickets, 1, 3));
    OK(blitz_semaphore_release_within(&tickets, 0, 3));
    CHECK(blitz_semaphore_available(&tickets) == 3);
    OK(blitz_semaphore_acquire(&tickets, 2));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release_within(&tickets, 3, 3));
    OK(blitz_semaphore_release_within(&tickets, 2, UINT32_MAX));
    EXPECT(BLITZ_EAGAIN, blitz_semaphore_try_acquire(&tickets, 4));
    EXPECT(BLITZ_ETIMEDOUT, blitz_semaphore_acquire_until(&tickets, 4, after_ms(5)));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_acquire(&tickets, UINT32_MAX));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release(&tickets, BLITZ_SEMAPHORE_MAX));
    OK(blitz_semaphore_release(&tickets, BLITZ_SEMAPHORE_MAX - 3));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release(&tickets, 1));
}

static void *wait_until_closed(void *argument) {
    EXPECT(BLITZ_ECLOSED, blitz_semaphore_acquire(argument, 1));
    return NULL;
}

static void semaphore_closes(void) {
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);
    struct worker worker;
    start(&worker, wait_until_closed, &semaphore);
    OK(blitz_semaphore_close(&semaphore));
    finish(&worker);
}

static blitz_barrier barrier;
static atomic_int leaders, arrived;

static void *meet(void *argument) {
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        bool is_leader;
        atomic_fetch_add(&arrived, 1);
        OK(blitz_barrier_wait(&barrier, &is_leader));
        CHECK(atomic_load(&arrived) >= (i + 1) * WORKERS);
        if (is_leader) atomic_fetch_add(&leaders, 1);
    }
    return NULL;
}

static void barrier_meets(void) {
    barrier = (blitz_barrier)BLITZ_BARRIER_INIT(WORKERS);
    atomic_store(&leaders, 0);
    atomic_store(&arrived, 0);
    struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) start(&workers[i], meet, NULL);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(atomic_load(&leaders) == ROUNDS);
    EXPECT(BLITZ_ETIMEDOUT, blitz_barrier_wait_until(&barrier, after_ms(5), NULL));
}

struct gate {
    blitz_latch latch;
    int value;
};

static void *pass_gate(void *argument) {
    struct gate *gate = argument;
    OK(blitz_latch_wait(&gate->latch));
    CHECK(gate->value == 7);
    OK(blitz_latch_try_wait(&gate->latch));
    return NULL;
}

static void latch_opens(void) {
    struct gate gate = {BLITZ_LATCH_INIT(3), 0};
    struct worker workers[3];
    for (int i = 0; i < 3; i++) start(&workers[i], pass_gate, &gate);
    EXPECT(BLITZ_EAGAIN, blitz_latch_try_wait(&gate.latch));
    EXPECT(BLITZ_ETIMEDOUT, blitz_latch_wait_until(&gate.latch, after_ms(5)));
    OK(blitz_latch_count_down(&gate.latch, 1));
    EXPECT(BLITZ_EINVAL, blitz_latch_count_down(&gate.latch, 3));
    CHECK(blitz_latch_count(&gate.latch) == 2);
    gate.value = 7;
    OK(blitz_latch_count_down(&gate.latch, 2));
    for (int i = 0; i < 3; i++) finish(&workers[i]);
    EXPECT(BLITZ_EINVAL, blitz_latch_count_down(&gate.latch, 1));
}

static blitz_event events[2] = {BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO), BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO)};

static void *alternate(void *argument) {
    size_t me = (size_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        OK(blitz_event_wait(&events[me]));
        OK(blitz_event_set(&events[1 - me]));
    }
    return NULL;
}

static void events_alternate(void) {
    struct worker workers[2];
    for (size_t i = 0; i < 2; i++) start(&workers[i], alternate, (void *)i);
    OK(blitz_event_set(&events[0]));
    for (int i = 0; i < 2; i++) finish(&workers[i]);
    OK(blitz_event_try_wait(&events[0]));
    EXPECT(BLITZ_EAGAIN, blitz_event_try_wait(&events[0]));
    EXPECT(BLITZ_ETIMEDOUT, blitz_event_wait_until(&events[0], after_ms(5)));
    OK(blitz_event_set(&events[0]));
    OK(blitz_event_reset(&events[0]));
    EXPECT(BLITZ_EAGAIN, blitz_event_try_wait(&events[0]));
}

static void *wait_manual(void *argument) {
    OK(blitz_event_wait(argument));
    return NULL;
}

static void manual_event_lets_all_go(void) {
    blitz_event event = BLITZ_EVENT_INIT(BLITZ_EVENT_MANUAL);
    struct worker workers[4];
    for (int i = 0; i < 4; i++) start(&workers[i], wait_manual, &event);
    OK(blitz_event_set(&event));
    for (int i = 0; i < 4; i++) finish(&workers[i]);
    OK(blitz_event_try_wait(&event));
    OK(blitz_event_reset(&event));
    EXPECT(BLITZ_EAGAIN, blitz_event_try_wait(&event));
}

static blitz_once once;
static atomic_int calls;

static void initialise(void *argument) {
    OK(blitz_sleep_ns(1000000));
    *(int *)argument = 42;
    atomic_fetch_add(&calls, 1);
}

static void *call_once(void *argument) {
    OK(blitz_once_call(&once, initialise, argument));
    CHECK(*(int *)argument == 42);
    return NULL;
}

static void once_runs_once(void) {
    int value = 0;
    struct worker workers[WORKERS];
    memset(&once, 0, sizeof once);
    atomic_store(&calls, 0);
    CHECK(!blitz_once_is_done(&once));
    for (int i = 0; i < WORKERS; i++) start(&workers[i], call_once, &value);
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    CHECK(atomic_load(&calls) == 1 && blitz_once_is_done(&once));
    EXPECT(BLITZ_EINVAL, blitz_once_call(&once, NULL, NULL));
}

struct slow_once {
    blitz_once once;
    blitz_event begun, end;
};

static void begin_and_wait(void *argument) {
    struct slow_once *slow = argument;
    OK(blitz_event_set(&slow->begun));
    OK(blitz_event_wait(&slow->end));
}

static void *call_slowly(void *argument) {
    struct slow_once *slow = argument;
    OK(blitz_once_call(&slow->once, begin_and_wait, slow));
    return NULL;
}

static void *give_up(void *argument) {
    struct slow_once *slow = argument;
    OK(blitz_event_wait(&slow->begun));
    EXPECT(BLITZ_EAGAIN, blitz_once_try_call(&slow->once, begin_and_wait, slow));
    EXPECT(BLITZ_ETIMEDOUT, blitz_once_call_until(&slow->once, begin_and_wait, slow, 0));
    EXPECT(BLITZ_ETIMEDOUT, blitz_once_call_until(&slow->once, begin_and_wait, slow, after_ms(2)));
    CHECK(!blitz_once_is_done(&slow->once));
    OK(blitz_event_set(&slow->end));
    OK(blitz_once_call_until(&slow->once, begin_and_wait, slow, BLITZ_NEVER));
    OK(blitz_once_try_call(&slow->once, begin_and_wait, slow));
    return NULL;
}

static void once_gives_up(void) {
    struct slow_once slow = {.once = BLITZ_ONCE_INIT};
    struct worker workers[3];
    start(&workers[0], call_slowly, &slow);
    start(&workers[1], give_up, &slow);
    start(&workers[2], call_slowly, &slow);
    for (int i = 0; i < 3; i++) finish(&workers[i]);
    // The first call of a kind may be any of the three.
    for (int i = 0; i < 2; i++) {
        int value = 0;
        blitz_once first = BLITZ_ONCE_INIT;
        atomic_store(&calls, 0);
        if (i == 0) OK(blitz_once_try_call(&first, initialise, &value));
        else OK(blitz_once_call_until(&first, initialise, &value, 0));
        CHECK(value == 42 && blitz_once_is_done(&first));
    }
}

static void *park(void *argument) {
    for (int i = 0; i < 3; i++) OK(blitz_parker_park(argument));
    return NULL;
}

static void parker_keeps_one_token(void) {
    blitz_parker parker = BLITZ_PARKER_INIT;
    OK(blitz_parker_unpark(&parker));
    OK(blitz_parker_unpark(&parker));
    OK(blitz_parker_park(&parker));
    EXPECT(BLITZ_EAGAIN, blitz_parker_try_park(&parker));
    EXPECT(BLITZ_ETIMEDOUT, blitz_parker_park_until(&parker, after_ms(5)));
    struct worker worker;
    start(&worker, park, &parker);
    for (int i = 0; i < 3; i++) {
        OK(blitz_parker_unpark(&parker));
        // The next token only counts once this one was taken.
        while (i < 2 && blitz_parker_try_park(&parker) == BLITZ_OK) {
            OK(blitz_parker_unpark(&parker));
            blitz_yield();
        }
    }
    finish(&worker);
}

struct parked {
    blitz_parker parker;
    atomic_int woken;
};

static void *park_once(void *argument) {
    struct parked *parked = argument;
    OK(blitz_parker_park(&parked->parker));
    atomic_fetch_add(&parked->woken, 1);
    return NULL;
}

static void parker_wakes_all(void) {
    struct parked parked = {.parker = BLITZ_PARKER_INIT};
    struct worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) start(&workers[i], park_once, &parked);
    // A worker that is not yet asleep is not woken.
    while (atomic_load(&parked.woken) < WORKERS) {
        OK(blitz_parker_unpark_all(&parked.parker));
        blitz_yield();
    }
    for (int i = 0; i < WORKERS; i++) finish(&workers[i]);
    EXPECT(BLITZ_EAGAIN, blitz_parker_try_park(&parked.parker));
    EXPECT(BLITZ_EINVAL, blitz_parker_unpark_all(NULL));
}

static void *sleep_body(void *argument) {
    (void)argument;
    uint64_t begin = blitz_now_ns();
    OK(blitz_sleep_ns(3000000));
    CHECK(blitz_now_ns() >= begin + 3000000);
    OK(blitz_sleep_until(0));
    return NULL;
}

static void sleeps(void) {
    struct worker worker;
    start(&worker, sleep_body, NULL);
    finish(&worker);
}

int main(void) {
    static const struct test tests[] = {
        {"mutex_excludes", mutex_excludes},
        {"mutex_times_out", mutex_times_out},
        {"rwlock_excludes_writers", rwlock_excludes_writers},
        {"a_wrong_unlock_is_an_error", a_wrong_unlock_is_an_error},
        {"condvar_passes_values", condvar_passes_values},
        {"condvar_wakes_all", condvar_wakes_all},
        {"condvar_times_out_with_the_mutex", condvar_times_out_with_the_mutex},
        {"semaphore_limits", semaphore_limits},
        {"semaphore_closes", semaphore_closes},
        {"barrier_meets", barrier_meets},
        {"latch_opens", latch_opens},
        {"events_alternate", events_alternate},
        {"manual_event_lets_all_go", manual_event_lets_all_go},
        {"once_runs_once", once_runs_once},
        {"once_gives_up", once_gives_up},
        {"parker_keeps_one_token", parker_keeps_one_token},
        {"parker_wakes_all", parker_wakes_all},
        {"sleeps", sleeps},
    };
    return RUN_TESTS(tests);
}
