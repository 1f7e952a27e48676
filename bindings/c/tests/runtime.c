// Runtimes and tasks: join, cancel, detach, shut down.
#include "check.h"

#include <stdatomic.h>

// The book shows these. A compiler refuses one that the header declares otherwise.
// ANCHOR: signatures
#include <blitz.h>

// Fibers and functions that block
int blitz_spawn(blitz_runtime *runtime, const blitz_fiber_settings *settings, void *(*function)(void *argument),
                void *argument, blitz_task **task);
int blitz_spawn_blocking(blitz_runtime *runtime, void *(*function)(void *argument), void *argument, blitz_task **task);
int blitz_task_join(blitz_task *task, uint64_t deadline_ns, void **result);
int blitz_task_cancel(blitz_task *task);
bool blitz_is_fiber(void);
int blitz_fiber_mask_cancel(bool begins);
int blitz_runtime_new(const blitz_runtime_settings *settings, blitz_runtime **runtime);
int blitz_pool_new(size_t threads, blitz_pool **pool);

// Channels
int blitz_mpsc_new(size_t size, size_t capacity, blitz_sender **sender, blitz_receiver **receiver);
int blitz_send(blitz_sender *sender, const void *value);
int blitz_recv(blitz_receiver *receiver, void *value);
void blitz_sender_free(blitz_sender *sender);
void blitz_receiver_free(blitz_receiver *receiver);

// Time and descriptors
uint64_t blitz_now_ns(void);
int blitz_sleep_ns(uint64_t nanoseconds);
int blitz_sleep_until(uint64_t deadline_ns);
int blitz_fd_wait(int fd, uint32_t events, uint64_t deadline_ns, uint32_t *ready);

// Locks
int blitz_semaphore_release_within(blitz_semaphore *semaphore, uint32_t permits, uint32_t bound);
int blitz_park(const void *key, const blitz_park_callbacks *callbacks, void *argument, size_t park_token,
               uint64_t deadline_ns, size_t *unpark_token);
int blitz_unpark_one(const void *key, blitz_unpark_callback callback, void *argument, blitz_unpark_result *result);
int blitz_unpark_all(const void *key, size_t unpark_token, size_t *unparked);
int blitz_unpark_filter(const void *key, uint32_t (*filter)(void *argument, size_t park_token),
                        blitz_unpark_callback callback, void *argument, blitz_unpark_result *result);
int blitz_unpark_requeue(const void *from, const void *to, uint32_t (*validate)(void *argument),
                         blitz_unpark_callback callback, void *argument, blitz_unpark_result *result);

// Errors and versions
const char *blitz_strerror(int error);
const char *blitz_last_error(void);
int blitz_check_abi(uint32_t version);
// ANCHOR_END: signatures

static void *add_one(void *argument) {
    CHECK(blitz_is_fiber() && blitz_fiber_id() != 0);
    return (char *)argument + 1;
}

static void fibers_return_results(void) {
    blitz_task *tasks[100];
    for (size_t i = 0; i < 100; i++) OK(blitz_spawn(NULL, NULL, add_one, (void *)i, &tasks[i]));
    for (size_t i = 0; i < 100; i++) {
        void *result;
        OK(blitz_task_join(tasks[i], BLITZ_NEVER, &result));
        CHECK((size_t)result == i + 1);
    }
    CHECK(!blitz_is_fiber() && blitz_fiber_id() == 0);
}

// A fiber starts fibers in its own runtime.
static void *tree(void *argument) {
    size_t depth = (size_t)argument;
    if (depth == 0) return (void *)1;
    blitz_task *left, *right;
    void *l, *r;
    OK(blitz_spawn(NULL, NULL, tree, (void *)(depth - 1), &left));
    OK(blitz_spawn(NULL, NULL, tree, (void *)(depth - 1), &right));
    OK(blitz_task_join(left, BLITZ_NEVER, &l));
    OK(blitz_task_join(right, BLITZ_NEVER, &r));
    return (void *)((size_t)l + (size_t)r);
}

static void fibers_start_fibers(void) {
    blitz_runtime_settings settings = {.size = sizeof(blitz_runtime_settings), .workers = 2, .thread_name = "tree"};
    blitz_runtime *runtime;
    blitz_task *task;
    void *leaves;
    OK(blitz_runtime_new(&settings, &runtime));
    OK(blitz_spawn(runtime, NULL, tree, (void *)7, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, &leaves));
    CHECK((size_t)leaves == 128);
    CHECK(blitz_runtime_tasks(runtime) == 0);
    blitz_runtime_free(runtime);
}

static void *sleep_for_ever(void *argument) {
    (void)argument;
    EXPECT(BLITZ_ECANCELED, blitz_sleep_until(BLITZ_NEVER));
    CHECK(blitz_fiber_is_cancelled());
    // Every wait returns from now on,
    EXPECT(BLITZ_ECANCELED, blitz_sleep_ns(1000));
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);
    EXPECT(BLITZ_ECANCELED, blitz_semaphore_acquire(&semaphore, 1));
    // except those that need not wait, and for locks.
    OK(blitz_semaphore_release(&semaphore, 1));
    OK(blitz_semaphore_acquire(&semaphore, 1));
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    OK(blitz_mutex_lock(&mutex));
    EXPECT(BLITZ_ETIMEDOUT, blitz_mutex_lock_until(&mutex, after_ms(1)));
    OK(blitz_fiber_mask_cancel(true));
    CHECK(!blitz_fiber_is_cancelled());
    OK(blitz_sleep_ns(1000000));
    OK(blitz_fiber_mask_cancel(false));
    EXPECT(BLITZ_EINVAL, blitz_fiber_mask_cancel(false));
    EXPECT(BLITZ_ECANCELED, blitz_yield());
    return (void *)77;
}

static void a_cancelled_fiber_stops_waiting(void) {
    blitz_task *task;
    void *result;
    OK(blitz_spawn(NULL, NULL, sleep_for_ever, NULL, &task));
    EXPECT(BLITZ_ETIMEDOUT, blitz_task_join(task, after_ms(5), &result));
    CHECK(!blitz_task_is_done(task));
    OK(blitz_task_cancel(task));
    OK(blitz_task_join(task, BLITZ_NEVER, &result));
    CHECK(result == (void *)77);
    EXPECT(BLITZ_EINVAL, blitz_task_cancel(NULL));
    EXPECT(BLITZ_EINVAL, blitz_fiber_mask_cancel(true));
}

static void *keep_a_pointer(void *argument) {
    CHECK(blitz_fiber_local() == NULL);
    OK(blitz_fiber_set_local(argument));
    // Other fibers of this thread run in that time, and have pointers of their own.
    for (int i = 0; i < 10; i++) OK(blitz_yield());
    return blitz_fiber_local();
}

static void each_fiber_keeps_a_pointer(void) {
    blitz_task *tasks[20];
    int values[20];
    void *result;
    for (int i = 0; i < 20; i++) OK(blitz_spawn(NULL, NULL, keep_a_pointer, &values[i], &tasks[i]));
    for (int i = 0; i < 20; i++) {
        OK(blitz_task_join(tasks[i], BLITZ_NEVER, &result));
        CHECK(result == &values[i]);
    }
    CHECK(blitz_fiber_local() == NULL);
    EXPECT(BLITZ_EINVAL, blitz_fiber_set_local(values));
}

static atomic_int ended;

static void *count_the_end(void *argument) {
    void *result = sleep_for_ever(argument);
    atomic_fetch_add(&ended, 1);
    return result;
}

static void *ignore_cancel(void *argument) {
    OK(blitz_fiber_mask_cancel(true));
    OK(blitz_semaphore_acquire(argument, 1));
    return NULL;
}

static void a_shutdown_ends_all_fibers(void) {
    blitz_runtime *runtime;
    OK(blitz_runtime_new(NULL, &runtime));
    atomic_store(&ended, 0);
    for (int i = 0; i < 50; i++) OK(blitz_spawn(runtime, NULL, count_the_end, NULL, NULL));
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);
    blitz_task *task;
    OK(blitz_spawn(runtime, NULL, ignore_cancel, &semaphore, &task));
    while (blitz_runtime_tasks(runtime) != 51) blitz_yield();
    blitz_sleep_ns(2000000);
    EXPECT(BLITZ_ETIMEDOUT, blitz_runtime_shutdown(runtime, after_ms(50)));
    EXPECT(BLITZ_ECLOSED, blitz_spawn(runtime, NULL, count_the_end, NULL, NULL));
    OK(blitz_semaphore_release(&semaphore, 1));
    OK(blitz_runtime_shutdown(runtime, BLITZ_NEVER));
    CHECK(atomic_load(&ended) == 50);
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    OK(blitz_runtime_shutdown(runtime, BLITZ_NEVER));
    blitz_runtime_free(runtime);
    blitz_runtime_free(NULL);
}

static void *shut_down_inside(void *argument) {
    EXPECT(BLITZ_EINVAL, blitz_runtime_shutdown(argument, BLITZ_NEVER));
    return NULL;
}

static void a_runtime_is_not_shut_down_inside(void) {
    blitz_runtime *runtime;
    blitz_task *task;
    OK(blitz_runtime_new(NULL, &runtime));
    OK(blitz_spawn(runtime, NULL, shut_down_inside, runtime, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    blitz_runtime_free(runtime);
}

static void *block(void *argument) {
    CHECK(!blitz_is_fiber());
    OK(blitz_sleep_ns(1000000));
    return argument;
}

static void *call_blocking(void *argument) {
    blitz_task *task;
    void *result;
    OK(blitz_spawn_blocking(NULL, block, argument, &task));
    EXPECT(BLITZ_EINVAL, blitz_task_cancel(task));
    OK(blitz_task_join(task, BLITZ_NEVER, &result));
    CHECK(result == argument);
    OK(blitz_spawn_blocking(NULL, block, argument, NULL));
    return NULL;
}

static void blocking_functions_run(void) {
    struct worker worker;
    start(&worker, call_blocking, &worker);
    finish(&worker);
}

static _Atomic int ran, dropped;

static void *run_owned(void *argument) {
    CHECK(argument == &ran);
    ran++;
    return NULL;
}

static void drop_owned(void *argument) {
    CHECK(argument == &ran);
    dropped++;
}

// An argument goes to its function or is dropped, and nothing is left when the runtime is freed.
static void owned_arguments_are_used_or_dropped(void) {
    enum { EACH = 50 };
    ran = dropped = 0;
    blitz_runtime_settings settings = {.size = sizeof(blitz_runtime_settings), .workers = 1, .blocking_threads = 1};
    blitz_runtime *runtime;
    OK(blitz_runtime_new(&settings, &runtime));
    for (int i = 0; i < EACH; i++) {
        OK(blitz_spawn_owned(runtime, NULL, run_owned, drop_owned, &ran, NULL));
        OK(blitz_spawn_blocking_owned(runtime, run_owned, drop_owned, &ran, NULL));
    }
    blitz_runtime_free(runtime);
    CHECK(ran + dropped == 2 * EACH);

    int before = dropped;
    EXPECT(BLITZ_EINVAL, blitz_spawn_owned(NULL, NULL, NULL, drop_owned, &ran, NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn_blocking_owned(NULL, NULL, drop_owned, &ran, NULL));
    OK(blitz_runtime_new(&settings, &runtime));
    OK(blitz_runtime_shutdown(runtime, BLITZ_NEVER));
    EXPECT(BLITZ_ECLOSED, blitz_spawn_owned(runtime, NULL, run_owned, drop_owned, &ran, NULL));
    CHECK(dropped == before + 3);
    blitz_runtime_free(runtime);
    EXPECT(BLITZ_EINVAL, blitz_spawn_owned(NULL, NULL, run_owned, NULL, &ran, NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn_blocking_owned(NULL, run_owned, NULL, &ran, NULL));
}

static void *deep(void *argument) {
    volatile char page[4096];
    page[0] = 1;
    size_t depth = (size_t)argument;
    if (depth > 0) deep((void *)(depth - 1));
    return (void *)(size_t)page[0];
}

static void stacks_have_their_size(void) {
    blitz_fiber_settings settings = {.size = sizeof(blitz_fiber_settings), .stack_size = 1 << 20, .name = "deep"};
    blitz_task *task;
    OK(blitz_spawn(NULL, &settings, deep, (void *)200, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    settings.stack_size = 1;
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, &settings, deep, NULL, &task));
    settings.stack_size = SIZE_MAX;
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, &settings, deep, NULL, &task));
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, NULL, NULL, NULL, &task));
}

static blitz_semaphore start_line = BLITZ_SEMAPHORE_INIT(0);

static void *wait_at_the_line(void *argument) {
    OK(blitz_semaphore_acquire(&start_line, 1));
    return argument;
}

static void many_fibers(void) {
    enum { MANY = 2000 };
    static blitz_task *tasks[MANY];
    for (size_t i = 0; i < MANY; i++) OK(blitz_spawn(NULL, NULL, wait_at_the_line, NULL, &tasks[i]));
    OK(blitz_semaphore_release(&start_line, MANY));
    for (size_t i = 0; i < MANY; i++) OK(blitz_task_join(tasks[i], BLITZ_NEVER, NULL));
}

// The text of an error is that of the fiber in which it occurred.
static void *own_error(void *argument) {
    char expected[16];
    blitz_sender *sender;
    blitz_receiver *receiver;
    uint64_t value = 0, missed = 1 + (size_t)argument;
    CHECK(strcmp(blitz_last_error(), "") == 0);
    OK(blitz_broadcast_new(8, 1, &sender, &receiver));
    for (uint64_t i = 0; i <= missed; i++) OK(blitz_send(sender, &value));
    EXPECT(BLITZ_ELAGGED, blitz_recv(receiver, &value));
    for (int i = 0; i < 20; i++) OK(blitz_yield());
    snprintf(expected, sizeof expected, " %d ", (int)missed);
    CHECK(strstr(blitz_last_error(), expected) != NULL);
    blitz_sender_free(sender);
    blitz_receiver_free(receiver);
    return NULL;
}

static void errors_belong_to_their_fiber(void) {
    struct worker workers[8];
    for (size_t i = 0; i < 8; i++) start(&workers[i], own_error, (void *)i);
    for (int i = 0; i < 8; i++) finish(&workers[i]);
}

static void bad_arguments(void) {
    blitz_runtime *runtime;
    blitz_runtime_settings settings = {.size = sizeof(blitz_runtime_settings), .workers = 1000000};
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_runtime_shutdown(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_task_join(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn_blocking(NULL, NULL, NULL, NULL));
    CHECK(blitz_task_is_done(NULL) && blitz_runtime_tasks(NULL) == 0);
    blitz_task_detach(NULL);

    EXPECT(BLITZ_EINVAL, blitz_mutex_lock(NULL));
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(NULL));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_read(NULL));
    EXPECT(BLITZ_EINVAL, blitz_condvar_wait(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_acquire(NULL, 1));
    EXPECT(BLITZ_EINVAL, blitz_barrier_wait(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_latch_wait(NULL));
    EXPECT(BLITZ_EINVAL, blitz_event_wait(NULL));
    EXPECT(BLITZ_EINVAL, blitz_parker_park(NULL));
    EXPECT(BLITZ_EINVAL, blitz_once_call(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_tcp_connect(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_read(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_open(NULL, BLITZ_OPEN_READ, 0, NULL));

    CHECK(strcmp(blitz_strerror(BLITZ_EINVAL), "invalid argument") == 0);
    CHECK(strcmp(blitz_error_name(BLITZ_ETIMEDOUT), "BLITZ_ETIMEDOUT") == 0);
    CHECK(strcmp(blitz_error_name(12345), "unknown") == 0);
    CHECK(strcmp(blitz_strerror(-5000), "unknown error") == 0);
    CHECK(blitz_os_error(BLITZ_EINVAL) == 0 && blitz_os_error(0) == 0);
    CHECK(blitz_abi_version() == BLITZ_ABI_VERSION);
    OK(blitz_check_abi(BLITZ_ABI_VERSION));
    EXPECT(BLITZ_EABI, blitz_check_abi(BLITZ_ABI_VERSION + 1));
    CHECK(strstr(blitz_last_error(), "version") != NULL && blitz_version()[0] != 0);
}

static blitz_runtime *of_program;

// The variables of the main thread have been destroyed when this runs.
static void end_with_program(void) {
    OK(blitz_runtime_shutdown(of_program, BLITZ_NEVER));
    blitz_runtime_free(of_program);
}

int main(void) {
    OK(blitz_runtime_new(NULL, &of_program));
    CHECK(atexit(end_with_program) == 0);
    static const struct test tests[] = {
        {"fibers_return_results", fibers_return_results},
        {"fibers_start_fibers", fibers_start_fibers},
        {"a_cancelled_fiber_stops_waiting", a_cancelled_fiber_stops_waiting},
        {"each_fiber_keeps_a_pointer", each_fiber_keeps_a_pointer},
        {"a_shutdown_ends_all_fibers", a_shutdown_ends_all_fibers},
        {"a_runtime_is_not_shut_down_inside", a_runtime_is_not_shut_down_inside},
        {"blocking_functions_run", blocking_functions_run},
        {"owned_arguments_are_used_or_dropped", owned_arguments_are_used_or_dropped},
        {"stacks_have_their_size", stacks_have_their_size},
        {"many_fibers", many_fibers},
        {"errors_belong_to_their_fiber", errors_belong_to_their_fiber},
        {"bad_arguments", bad_arguments},
    };
    return RUN_TESTS(tests);
}
