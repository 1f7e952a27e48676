// Objects that are freed as soon as their documentation allows. Every other object is kept instead, and
// must not change any more; valgrind notices a call that uses one of the others.
#include "check.h"

#include <stdatomic.h>

enum { ROUNDS = 100 };

// The actions of the two sides on one object by value. If `returns` is set, the object may be freed only when
// the releasing call has returned; else as soon as the wait has ended.
struct kind {
    size_t size;
    void (*begin)(void *object);
    void (*release)(void *object);
    void (*wait)(void *object);
    bool returns;
};

struct exchange {
    const struct kind *kind;
    _Atomic(void *) object;
    atomic_uint released;
};

static void *release_each(void *argument) {
    struct exchange *exchange = argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *object;
        while (!(object = atomic_exchange(&exchange->object, NULL))) blitz_yield();
        exchange->kind->release(object);
        atomic_fetch_add(&exchange->released, 1);
    }
    return NULL;
}

// Waits until the releasing call of a round has returned.
static void wait_for_return(struct exchange *exchange, unsigned round) {
    while (atomic_load(&exchange->released) <= round) blitz_yield();
}

static void free_each(const struct kind *kind) {
    struct exchange exchange = {.kind = kind};
    struct worker worker;
    start(&worker, release_each, &exchange);
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *object = calloc(1, kind->size);
        CHECK(object);
        kind->begin(object);
        atomic_store(&exchange.object, object);
        kind->wait(object);
        if (kind->returns) wait_for_return(&exchange, round);
        memset(object, 0xa5, kind->size);
        if (round % 2) {
            wait_for_return(&exchange, round);
            for (size_t i = 0; i < kind->size; i++) CHECK(((unsigned char *)object)[i] == 0xa5);
        }
        free(object);
    }
    finish(&worker);
}

static void begin_latch(void *latch) { *(blitz_latch *)latch = (blitz_latch)BLITZ_LATCH_INIT(2); }
static void release_latch(void *latch) {
    OK(blitz_latch_count_down(latch, 1));
    OK(blitz_latch_count_down(latch, 1));
}
static void wait_for_latch(void *latch) { OK(blitz_latch_wait(latch)); }
static void poll_latch(void *latch) {
    while (blitz_latch_try_wait(latch) != BLITZ_OK) blitz_yield();
}

static void latch(void) {
    free_each(&(struct kind){sizeof(blitz_latch), begin_latch, release_latch, wait_for_latch, false});
    free_each(&(struct kind){sizeof(blitz_latch), begin_latch, release_latch, poll_latch, false});
}

static void begin_manual(void *event) {
    *(blitz_event *)event = (blitz_event)BLITZ_EVENT_INIT(BLITZ_EVENT_MANUAL);
}
static void begin_auto(void *event) {
    *(blitz_event *)event = (blitz_event)BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO);
}
static void release_event(void *event) { OK(blitz_event_set(event)); }
static void wait_for_event(void *event) { OK(blitz_event_wait(event)); }
static void poll_event(void *event) {
    while (blitz_event_try_wait(event) != BLITZ_OK) blitz_yield();
}

static void event(void) {
    free_each(&(struct kind){sizeof(blitz_event), begin_manual, release_event, wait_for_event, false});
    free_each(&(struct kind){sizeof(blitz_event), begin_manual, release_event, poll_event, false});
    free_each(&(struct kind){sizeof(blitz_event), begin_auto, release_event, wait_for_event, false});
    free_each(&(struct kind){sizeof(blitz_event), begin_auto, release_event, poll_event, false});
}

static void nothing(void *argument) { (void)argument; }
static void begin_zero(void *object) { (void)object; }
static void release_once(void *once) { OK(blitz_once_call(once, nothing, NULL)); }
static void wait_for_once(void *once) {
    while (!blitz_once_is_done(once)) blitz_yield();
    OK(blitz_once_call(once, nothing, NULL));
}

static void once(void) {
    free_each(&(struct kind){sizeof(blitz_once), begin_zero, release_once, wait_for_once, false});
}

static void begin_mutex(void *mutex) { OK(blitz_mutex_lock(mutex)); }
static void release_mutex(void *mutex) { OK(blitz_mutex_unlock(mutex)); }
static void wait_for_mutex(void *mutex) {
    OK(blitz_mutex_lock(mutex));
    OK(blitz_mutex_unlock(mutex));
}

static void mutex(void) {
    free_each(&(struct kind){sizeof(blitz_mutex), begin_mutex, release_mutex, wait_for_mutex, true});
}

static void begin_rwlock(void *lock) { OK(blitz_rwlock_write(lock)); }
static void release_rwlock(void *lock) { OK(blitz_rwlock_unlock_write(lock)); }
static void wait_for_rwlock(void *lock) {
    OK(blitz_rwlock_read(lock));
    OK(blitz_rwlock_unlock_read(lock));
}

static void rwlock(void) {
    free_each(&(struct kind){sizeof(blitz_rwlock), begin_rwlock, release_rwlock, wait_for_rwlock, true});
}

static void release_semaphore(void *semaphore) { OK(blitz_semaphore_release(semaphore, 1)); }
static void wait_for_semaphore(void *semaphore) { OK(blitz_semaphore_acquire(semaphore, 1)); }

static void semaphore(void) {
    free_each(&(struct kind){sizeof(blitz_semaphore), begin_zero, release_semaphore,
                             wait_for_semaphore, true});
}

struct condition {
    blitz_mutex mutex;
    blitz_condvar changed;
    bool is_so;
};

static void release_condvar(void *argument) {
    struct condition *condition = argument;
    OK(blitz_mutex_lock(&condition->mutex));
    condition->is_so = true;
    OK(blitz_condvar_notify_one(&condition->changed));
    OK(blitz_mutex_unlock(&condition->mutex));
}
static void wait_for_condvar(void *argument) {
    struct condition *condition = argument;
    OK(blitz_mutex_lock(&condition->mutex));
    while (!condition->is_so) OK(blitz_condvar_wait(&condition->changed, &condition->mutex));
    OK(blitz_mutex_unlock(&condition->mutex));
}

static void condvar(void) {
    free_each(&(struct kind){sizeof(struct condition), begin_zero, release_condvar, wait_for_condvar,
                             true});
}

static void begin_barrier(void *barrier) {
    *(blitz_barrier *)barrier = (blitz_barrier)BLITZ_BARRIER_INIT(2);
}
static void wait_for_barrier(void *barrier) { OK(blitz_barrier_wait(barrier, NULL)); }

static void barrier(void) {
    free_each(&(struct kind){sizeof(blitz_barrier), begin_barrier, wait_for_barrier, wait_for_barrier,
                             true});
}

static void release_parker(void *parker) { OK(blitz_parker_unpark(parker)); }
static void wait_for_parker(void *parker) { OK(blitz_parker_park(parker)); }

static void parker(void) {
    free_each(&(struct kind){sizeof(blitz_parker), begin_zero, release_parker, wait_for_parker, true});
}

// The two ends of a channel are handles of their own: each side frees its end when it is done.
struct ends {
    blitz_sender *sender;
    blitz_receiver *receiver;
};

static void begin_oneshot(void *argument) {
    struct ends *ends = argument;
    OK(blitz_oneshot_new(sizeof(int), &ends->sender, &ends->receiver));
}
static void begin_mpsc(void *argument) {
    struct ends *ends = argument;
    OK(blitz_mpsc_new(sizeof(int), 1, &ends->sender, &ends->receiver));
}
static void begin_mpmc(void *argument) {
    struct ends *ends = argument;
    OK(blitz_mpmc_new(sizeof(int), 0, &ends->sender, &ends->receiver));
}
static void begin_broadcast(void *argument) {
    struct ends *ends = argument;
    OK(blitz_broadcast_new(sizeof(int), 1, &ends->sender, &ends->receiver));
}
static void begin_watch(void *argument) {
    struct ends *ends = argument;
    int first = 0;
    OK(blitz_watch_new(sizeof first, &first, &ends->sender, &ends->receiver));
}
static void send_and_free(void *argument) {
    blitz_sender *sender = ((struct ends *)argument)->sender;
    OK(blitz_send(sender, &(int){1}));
    blitz_sender_free(sender);
}
static void receive_and_free(void *argument) {
    blitz_receiver *receiver = ((struct ends *)argument)->receiver;
    int value;
    OK(blitz_recv(receiver, &value));
    CHECK(value == 1);
    blitz_receiver_free(receiver);
}

static void channels(void) {
    static void (*const begins[])(void *) = {begin_oneshot, begin_mpsc, begin_mpmc, begin_broadcast,
                                             begin_watch};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        free_each(&(struct kind){sizeof(struct ends), begins[i], send_and_free, receive_and_free, false});
}

// A join frees the task, which may not have returned to its runtime yet.
static void *touch_task(void *argument) { return argument; }

static void tasks(void) {
    for (int round = 0; round < ROUNDS; round++) {
        int *value = malloc(sizeof *value);
        blitz_task *task;
        void *result;
        CHECK(value);
        OK(blitz_spawn(NULL, NULL, touch_task, value, &task));
        OK(blitz_task_join(task, BLITZ_NEVER, &result));
        CHECK(result == value);
        free(result);
    }
}

int main(void) {
    static const struct test tests[] = {
        {"latch", latch},
        {"event", event},
        {"once", once},
        {"mutex", mutex},
        {"rwlock", rwlock},
        {"semaphore", semaphore},
        {"condvar", condvar},
        {"barrier", barrier},
        {"parker", parker},
        {"channels", channels},
        {"tasks", tasks},
    };
    return RUN_TESTS(tests);
}
