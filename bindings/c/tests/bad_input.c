// Bad input: NULL, sizes and numbers out of range, deadlines in the past, ends that are closed,
// and the number of another interface. Each has a defined result.
#include "check.h"

#include <errno.h>
#include <signal.h>

static void *null_body(void *argument) {
    (void)argument;
    EXPECT(BLITZ_EINVAL, blitz_barrier_wait(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_barrier_wait_until(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_mpsc_new(0, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_mpmc_new(0, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_oneshot_new(0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_broadcast_new(0, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_watch_new(0, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_send(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_send_until(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_try_send(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_recv(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_recv_until(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_try_recv(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_receiver_latest(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_sender_clone(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_receiver_clone(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_sender_subscribe(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_sender_wait_closed(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_sender_close(NULL));
    EXPECT(BLITZ_EINVAL, blitz_receiver_close(NULL));
    EXPECT(BLITZ_EINVAL, blitz_select(NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_try_select(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_condvar_wait(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_condvar_wait_until(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_condvar_notify_one(NULL));
    EXPECT(BLITZ_EINVAL, blitz_condvar_notify_all(NULL));
    EXPECT(BLITZ_EINVAL, blitz_event_set(NULL));
    EXPECT(BLITZ_EINVAL, blitz_event_reset(NULL));
    EXPECT(BLITZ_EINVAL, blitz_event_wait(NULL));
    EXPECT(BLITZ_EINVAL, blitz_event_wait_until(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_event_try_wait(NULL));
    EXPECT(BLITZ_EINVAL, blitz_park(NULL, NULL, NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unpark_one(NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unpark_all(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unpark_filter(NULL, NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unpark_requeue(NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unpark_filter("key", NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unpark_requeue("key", "to", NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release_within(NULL, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait(NULL, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait_until(NULL, 0, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_futex_wake(NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_futex_wake_one(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_futex_wake_all(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_futex_wait_any(NULL, 0, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_futex_block_until_different(NULL, 0, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_futex_spin_until_different(NULL, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_address_parse(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_address_format(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_dns_lookup(NULL, 0, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_udp_bind(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_udp_send(NULL, NULL, 0, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_udp_recv(NULL, NULL, 0, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_udp_try_recv(NULL, NULL, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_udp_address(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_udp_fd(NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_open(NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_read(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_write(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_file_seek(NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_sync(NULL, false));
    EXPECT(BLITZ_EINVAL, blitz_file_len(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_set_len(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_tcp_listen(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unix_listen(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_listener_accept(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_listener_accept_until(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_listener_try_accept(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_listener_address(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_listener_fd(NULL));
    EXPECT(BLITZ_EINVAL, blitz_process_spawn(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_process_wait(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_process_kill(NULL));
    EXPECT(BLITZ_EINVAL, blitz_process_take_stream(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_signal_new(0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_signal_wait(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_tcp_connect(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_tcp_connect_address(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unix_connect(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_unix_pair(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_read(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_read_until(NULL, NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_try_read(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_read_exact(NULL, NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_write(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_write_until(NULL, NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_write_all(NULL, NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_try_write(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_shutdown(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_stream_set_nodelay(NULL, false));
    EXPECT(BLITZ_EINVAL, blitz_stream_addresses(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_stream_fd(NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_receiver_open(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_observer_open(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_send(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_ipc_send_until(NULL, NULL, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_ipc_try_send(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_ipc_drained(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_ipc_loan(NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_loan_send(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_ipc_loan_drop(NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_recv(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_recv_until(NULL, NULL, 0, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_try_recv(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_take(NULL, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_release(NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_receiver_doorbell(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_try_recv_or_arm(NULL, NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_doorbell(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_ipc_try_send_or_arm(NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_ipc_participants(NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_latch_count_down(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_latch_wait(NULL));
    EXPECT(BLITZ_EINVAL, blitz_latch_wait_until(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_latch_try_wait(NULL));
    EXPECT(BLITZ_EINVAL, blitz_mutex_lock(NULL));
    EXPECT(BLITZ_EINVAL, blitz_mutex_lock_until(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_mutex_try_lock(NULL));
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(NULL));
    EXPECT(BLITZ_EINVAL, blitz_once_call(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_once_call_until(NULL, NULL, NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_once_try_call(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_parker_park(NULL));
    EXPECT(BLITZ_EINVAL, blitz_parker_park_until(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_parker_try_park(NULL));
    EXPECT(BLITZ_EINVAL, blitz_parker_unpark(NULL));
    EXPECT(BLITZ_EINVAL, blitz_parker_unpark_all(NULL));
    EXPECT(BLITZ_EINVAL, blitz_pipeline_run(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_pipeline_control_new(NULL));
    EXPECT(BLITZ_EINVAL, blitz_pipeline_cancel(NULL));
    EXPECT(BLITZ_EINVAL, blitz_pool_new(0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_parallel_for(NULL, 0, 0, 0, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_join(NULL, NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_scope_run(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_scope_spawn(NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_runtime_shutdown(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_read(NULL));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_read_until(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_try_read(NULL));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_write(NULL));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_write_until(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_try_write(NULL));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(NULL));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(NULL));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_acquire(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_acquire_until(NULL, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_try_acquire(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_release(NULL, 0));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_close(NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn_owned(NULL, NULL, NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn_blocking(NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_spawn_blocking_owned(NULL, NULL, NULL, NULL, NULL));
    EXPECT(BLITZ_EINVAL, blitz_task_join(NULL, 0, NULL));
    EXPECT(BLITZ_EINVAL, blitz_task_cancel(NULL));
    return NULL;
}

// Every function that takes a pointer.
static void null_is_an_error(void) {
    struct worker worker;
    start(&worker, null_body, NULL);
    finish(&worker);
    if (flavour == THREADS) EXPECT(BLITZ_EINVAL, blitz_fiber_set_local(NULL));
    CHECK(blitz_receiver_len(NULL) == 0);
    CHECK(blitz_process_id(NULL) == 0);
    CHECK(blitz_ipc_max_len(NULL) == 0);
    CHECK(blitz_latch_count(NULL) == 0);
    CHECK(blitz_runtime_tasks(NULL) == 0);
    CHECK(blitz_semaphore_available(NULL) == 0);
    CHECK(blitz_pool_threads(NULL) > 0);
    CHECK(blitz_sender_is_closed(NULL) && blitz_task_is_done(NULL) && !blitz_once_is_done(NULL));
    OK(blitz_ipc_clean(NULL));
    blitz_sender_free(NULL);
    blitz_receiver_free(NULL);
    blitz_udp_free(NULL);
    blitz_file_free(NULL);
    blitz_listener_free(NULL);
    blitz_process_free(NULL);
    blitz_signal_free(NULL);
    blitz_stream_free(NULL);
    blitz_ipc_sender_free(NULL);
    blitz_ipc_receiver_free(NULL);
    blitz_pipeline_control_free(NULL);
    blitz_pool_free(NULL);
    blitz_runtime_free(NULL);
    blitz_task_detach(NULL);
}

static void *past_body(void *argument) {
    (void)argument;
    blitz_barrier barrier = BLITZ_BARRIER_INIT(3);
    bool is_leader = false;
    blitz_condvar condvar = BLITZ_CONDVAR_INIT;
    blitz_event event = BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO);
    blitz_latch latch = BLITZ_LATCH_INIT(1);
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    blitz_parker parker = BLITZ_PARKER_INIT;
    blitz_rwlock lock = BLITZ_RWLOCK_INIT;
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);
    uint32_t word = 5;
    blitz_futex_waiter waiter = {&word, 5};
    size_t index;
    OK(blitz_mutex_lock(&mutex));
    OK(blitz_rwlock_write(&lock));
    // The beginning of the clock, and a moment ago.
    const uint64_t past[] = {0, blitz_now_ns() - 1};
    for (int i = 0; i < 2; i++) {
        EXPECT(BLITZ_ETIMEDOUT, blitz_barrier_wait_until(&barrier, past[i], NULL));
        EXPECT(BLITZ_ETIMEDOUT, blitz_condvar_wait_until(&condvar, &mutex, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_event_wait_until(&event, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_latch_wait_until(&latch, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_mutex_lock_until(&mutex, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_parker_park_until(&parker, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_rwlock_read_until(&lock, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_rwlock_write_until(&lock, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_semaphore_acquire_until(&semaphore, 1, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_futex_wait_until(&word, 5, BLITZ_FUTEX_PRIVATE, past[i]));
        EXPECT(BLITZ_ETIMEDOUT,
               blitz_futex_wait_any(&waiter, 1, BLITZ_FUTEX_PRIVATE, past[i], &index));
        EXPECT(BLITZ_ETIMEDOUT, blitz_futex_block_until_different(&word, 5, BLITZ_FUTEX_PRIVATE,
                                                                  past[i], NULL));
        OK(blitz_sleep_until(past[i]));
    }
    // The two waits that timed out count for the round.
    OK(blitz_barrier_wait_until(&barrier, 0, &is_leader));
    CHECK(is_leader);
    return NULL;
}

static void a_deadline_in_the_past_does_not_wait(void) {
    struct worker worker;
    start(&worker, past_body, NULL);
    finish(&worker);
}

static void *past_of_handles_body(void *argument) {
    (void)argument;
    blitz_sender *sender;
    blitz_receiver *receiver;
    blitz_stream *one, *other;
    blitz_udp *udp;
    blitz_listener *listener, *local;
    char buffer[8];
    size_t count, index;
    long value = 1;
    OK(blitz_mpsc_new(sizeof value, 1, &sender, &receiver));
    OK(blitz_unix_pair(&one, &other));
    OK(blitz_udp_bind("127.0.0.1:0", &udp));
    OK(blitz_tcp_listen("127.0.0.1:0", &listener));
    blitz_case cases[] = {{.receiver = receiver, .value = &value}};
    const uint64_t past[] = {0, blitz_now_ns() - 1};
    for (int i = 0; i < 2; i++) {
        EXPECT(BLITZ_ETIMEDOUT, blitz_recv_until(receiver, &value, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_sender_wait_closed(sender, past[i]));
        EXPECT(BLITZ_ETIMEDOUT, blitz_select(cases, 1, past[i], &index));
        EXPECT(BLITZ_ETIMEDOUT,
               blitz_stream_read_until(one, buffer, sizeof buffer, past[i], &count));
        EXPECT(BLITZ_ETIMEDOUT,
               blitz_stream_read_exact(one, buffer, sizeof buffer, past[i], &count));
        CHECK(count == 0);
        EXPECT(BLITZ_ETIMEDOUT, blitz_udp_recv(udp, buffer, sizeof buffer, past[i], &count, NULL));
        EXPECT(BLITZ_ETIMEDOUT, blitz_listener_accept_until(listener, past[i], &other));
        EXPECT(BLITZ_ETIMEDOUT, blitz_fd_wait(blitz_stream_fd(one), BLITZ_FD_READ, past[i], NULL));
    }
    OK(blitz_send(sender, &value));
    EXPECT(BLITZ_ETIMEDOUT, blitz_send_until(sender, &value, 0));

    // No bytes: these do not wait, although nothing comes.
    OK(blitz_stream_read(one, buffer, 0, &count));
    CHECK(count == 0);
    OK(blitz_stream_try_read(one, NULL, 0, &count));
    OK(blitz_stream_read_exact(one, NULL, 0, BLITZ_NEVER, &count));
    OK(blitz_stream_write(one, NULL, 0, &count));
    OK(blitz_stream_try_write(one, NULL, 0, &count));
    OK(blitz_stream_write_all(one, NULL, 0, BLITZ_NEVER, &count));
    CHECK(count == 0);

    // Lengths that no memory has.
    EXPECT(BLITZ_EINVAL, blitz_stream_read(one, buffer, SIZE_MAX, &count));
    EXPECT(BLITZ_EINVAL, blitz_stream_write(one, buffer, SIZE_MAX, &count));
    EXPECT(BLITZ_EINVAL, blitz_select(cases, SIZE_MAX, 0, &index));
    EXPECT(BLITZ_EINVAL, blitz_stream_read(one, NULL, 1, &count));
    EXPECT(BLITZ_EINVAL, blitz_unix_listen(NULL, &local));
    CHECK(blitz_tcp_listen("127.0.0.1:99999", &local) < 0);

    // The other end has ended.
    blitz_receiver_free(receiver);
    EXPECT(BLITZ_ECLOSED, blitz_send(sender, &value));
    EXPECT(BLITZ_ECLOSED, blitz_try_send(sender, &value));
    blitz_sender_free(sender);
    blitz_stream_free(one);
    EXPECT(BLITZ_EINVAL, blitz_fd_wait(-1, 0, 0, NULL));
    EXPECT(-EBADF, blitz_fd_wait(-1, BLITZ_FD_READ, 0, NULL));
    EXPECT(-EBADF, blitz_fd_wait(-1, BLITZ_FD_READ, BLITZ_NEVER, NULL));
    blitz_fd_watch *watch;
    EXPECT(BLITZ_EINVAL, blitz_fd_watch_new(0, NULL));
    EXPECT(-EBADF, blitz_fd_watch_new(-1, &watch));
    EXPECT(BLITZ_EINVAL, blitz_fd_watch_wait(NULL, BLITZ_FD_READ, 0));
    OK(blitz_fd_watch_new(blitz_listener_fd(listener), &watch));
    EXPECT(BLITZ_EINVAL, blitz_fd_watch_wait(watch, 0, 0));
    EXPECT(BLITZ_EINVAL, blitz_fd_watch_wait(watch, BLITZ_FD_ERROR, 0));
    blitz_fd_watch_free(watch);
    blitz_fd_watch_free(NULL);
    blitz_stream_free(other);
    blitz_udp_free(udp);
    blitz_listener_free(listener);
    return NULL;
}

static void handles_check_deadlines_and_sizes(void) {
    struct worker worker;
    start(&worker, past_of_handles_body, NULL);
    finish(&worker);
}

static void *nothing(void *argument) { return argument; }

static void numbers_out_of_range_are_errors(void) {
    blitz_sender *sender;
    blitz_receiver *receiver;
    blitz_runtime *runtime;
    blitz_pool *pool;
    blitz_signal *signal;
    blitz_task *task;
    blitz_runtime_settings settings = {.size = sizeof(blitz_runtime_settings), .workers = BLITZ_WORKERS_MAX + 1};
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    settings = (blitz_runtime_settings){.size = sizeof(blitz_runtime_settings), .workers = SIZE_MAX};
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    EXPECT(BLITZ_EINVAL, blitz_pool_new(SIZE_MAX, &pool));
    blitz_fiber_settings fiber = {.size = sizeof(blitz_fiber_settings), .stack_size = BLITZ_STACK_MIN - 1};
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, &fiber, nothing, NULL, &task));
    fiber.stack_size = (size_t)BLITZ_STACK_MAX + 1;
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, &fiber, nothing, NULL, &task));
    EXPECT(BLITZ_EINVAL, blitz_mpsc_new((size_t)BLITZ_ELEMENT_MAX + 1, 1, &sender, &receiver));
    EXPECT(BLITZ_EINVAL, blitz_oneshot_new(SIZE_MAX, &sender, &receiver));
    EXPECT(BLITZ_EINVAL, blitz_broadcast_new(8, SIZE_MAX, &sender, &receiver));
    EXPECT(BLITZ_EINVAL, blitz_mpmc_new(8, SIZE_MAX - 1, &sender, &receiver));
    CHECK(blitz_signal_new(-1, &signal) < 0);
    CHECK(blitz_signal_new(9, &signal) < 0);
    CHECK(blitz_signal_new(1000000, &signal) < 0);
    // An element without bytes is fine.
    OK(blitz_mpsc_new(0, 1, &sender, &receiver));
    OK(blitz_send(sender, ""));
    char none = 5;
    OK(blitz_recv(receiver, &none));
    CHECK(none == 5);
    blitz_sender_free(sender);
    blitz_receiver_free(receiver);
    CHECK(strcmp(blitz_error_name(12345), "unknown") == 0 && blitz_os_error(12345) == 0);
    CHECK(blitz_strerror(INT32_MIN) != NULL && blitz_strerror(INT32_MAX) != NULL);
}

static void do_nothing(void *argument) { (void)argument; }

// Memory that was never initialised, or has become something else.
static void memory_that_is_no_object_is_noticed(void) {
    union {
        unsigned char bytes[128];
        blitz_mutex mutex;
        blitz_rwlock lock;
        blitz_condvar condvar;
        blitz_semaphore semaphore;
        blitz_barrier barrier;
        blitz_latch latch;
        blitz_event event;
        blitz_once once;
        blitz_parker parker;
    } memory;
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    memset(memory.bytes, 0xa5, sizeof memory.bytes);
    EXPECT(BLITZ_EINVAL, blitz_mutex_lock(&memory.mutex));
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(&memory.mutex));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_read(&memory.lock));
    EXPECT(BLITZ_EINVAL, blitz_rwlock_write(&memory.lock));
    EXPECT(BLITZ_EINVAL, blitz_condvar_wait(&memory.condvar, &mutex));
    EXPECT(BLITZ_EINVAL, blitz_condvar_notify_all(&memory.condvar));
    EXPECT(BLITZ_EINVAL, blitz_semaphore_acquire(&memory.semaphore, 1));
    EXPECT(BLITZ_EINVAL, blitz_barrier_wait(&memory.barrier, NULL));
    EXPECT(BLITZ_EINVAL, blitz_latch_wait(&memory.latch));
    EXPECT(BLITZ_EINVAL, blitz_event_wait(&memory.event));
    EXPECT(BLITZ_EINVAL, blitz_once_call(&memory.once, do_nothing, NULL));
    EXPECT(BLITZ_EINVAL, blitz_parker_park(&memory.parker));
    CHECK(!blitz_once_is_done(&memory.once) && blitz_latch_count(&memory.latch) == 0);
    CHECK(blitz_semaphore_available(&memory.semaphore) == 0);
}

// Settings of a program that was compiled with another version of the header.
static void settings_of_another_size_are_checked(void) {
    struct {
        blitz_runtime_settings known;
        uint64_t more;
    } newer = {.known = {.size = sizeof newer, .workers = 1}};
    blitz_runtime_settings settings = BLITZ_RUNTIME_SETTINGS_INIT;
    blitz_fiber_settings fiber = BLITZ_FIBER_SETTINGS_INIT;
    blitz_process_settings process = BLITZ_PROCESS_SETTINGS_INIT;
    blitz_ipc_settings ipc = BLITZ_IPC_SETTINGS_INIT;
    blitz_pipeline pipeline = BLITZ_PIPELINE_INIT;
    blitz_runtime *runtime;
    blitz_process *child;
    blitz_ipc_sender *sender;
    blitz_pipeline_result result;
    OK(blitz_runtime_new(&settings, &runtime));
    blitz_runtime_free(runtime);
    OK(blitz_runtime_new(&newer.known, &runtime));
    blitz_runtime_free(runtime);
    newer.more = 1;
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&newer.known, &runtime));
    settings.size = 0;
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    CHECK(strstr(blitz_last_error(), "size") != NULL);
    settings.size = sizeof settings - 1;
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    settings.size = SIZE_MAX;
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    settings.size = sizeof settings;
    settings.reserved[3] = 1;
    EXPECT(BLITZ_EINVAL, blitz_runtime_new(&settings, &runtime));
    // The others.
    fiber.size = process.size = ipc.size = pipeline.size = 0;
    EXPECT(BLITZ_EINVAL, blitz_spawn(NULL, &fiber, NULL, NULL, NULL));
    process.program = "true";
    EXPECT(BLITZ_EINVAL, blitz_process_spawn(&process, &child));
    CHECK(strstr(blitz_last_error(), "size") != NULL);
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open("c-settings", &ipc, &sender));
    CHECK(strstr(blitz_last_error(), "size") != NULL);
    EXPECT(BLITZ_EINVAL, blitz_ipc_participants("c-settings", &ipc, NULL, NULL));
    CHECK(strstr(blitz_last_error(), "size") != NULL);
    EXPECT(BLITZ_EINVAL, blitz_pipeline_run(&pipeline, &result));
    CHECK(strstr(blitz_last_error(), "size") != NULL);
}

// An error without details does not show those of an older one.
static void details_are_those_of_the_last_error(void) {
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    OK(blitz_mutex_lock(&mutex));
    EXPECT(BLITZ_EABI, blitz_check_abi(UINT32_MAX));
    CHECK(blitz_last_error()[0] != 0);
    EXPECT(BLITZ_EAGAIN, blitz_mutex_try_lock(&mutex));
    CHECK(blitz_last_error()[0] == 0);
    EXPECT(BLITZ_EABI, blitz_check_abi(UINT32_MAX));
    EXPECT(BLITZ_EINVAL, blitz_spawn_owned(NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strstr(blitz_last_error(), "NULL") != NULL);
    EXPECT(BLITZ_EABI, blitz_check_abi(UINT32_MAX));
    EXPECT(BLITZ_EINVAL, blitz_stream_fd(NULL));
    CHECK(strstr(blitz_last_error(), "NULL") != NULL);
}

// Details tell apart the reasons of one number.
static void invalid_arguments_have_details(void) {
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(&mutex));
    CHECK(strstr(blitz_last_error(), "not locked") != NULL);
    blitz_rwlock lock = BLITZ_RWLOCK_INIT;
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_read(&lock));
    CHECK(strstr(blitz_last_error(), "for reading") != NULL);
    EXPECT(BLITZ_EINVAL, blitz_rwlock_unlock_write(&lock));
    CHECK(strstr(blitz_last_error(), "for writing") != NULL);
    blitz_sender *sender;
    blitz_receiver *receiver;
    EXPECT(BLITZ_EINVAL, blitz_mpsc_new(4, 0, &sender, &receiver));
    CHECK(strstr(blitz_last_error(), "capacity is 0") != NULL);
    EXPECT(BLITZ_EINVAL, blitz_oneshot_new(BLITZ_ELEMENT_MAX + 1, &sender, &receiver));
    CHECK(strstr(blitz_last_error(), "size of an element") != NULL);
    blitz_stream *stream;
    blitz_file *file;
    EXPECT(-ENOENT, blitz_file_open("/no/such/file", BLITZ_OPEN_READ, 0, &file));
    CHECK(strstr(blitz_last_error(), "/no/such/file: ") != NULL);
    blitz_signal *signal;
    EXPECT(BLITZ_EINVAL, blitz_signal_new(SIGKILL, &signal));
    EXPECT(BLITZ_EINVAL, blitz_tcp_connect("localhost", BLITZ_NEVER, &stream));
    CHECK(strstr(blitz_last_error(), "localhost:80") != NULL);
}

static void another_interface_is_noticed(void) {
    OK(blitz_check_abi(BLITZ_ABI_VERSION));
    EXPECT(BLITZ_EABI, blitz_check_abi(BLITZ_ABI_VERSION + 1));
    EXPECT(BLITZ_EABI, blitz_check_abi(UINT32_MAX));
}

int main(void) {
    static const struct test tests[] = {
        {"null_is_an_error", null_is_an_error},
        {"a_deadline_in_the_past_does_not_wait", a_deadline_in_the_past_does_not_wait},
        {"handles_check_deadlines_and_sizes", handles_check_deadlines_and_sizes},
        {"numbers_out_of_range_are_errors", numbers_out_of_range_are_errors},
        {"memory_that_is_no_object_is_noticed", memory_that_is_no_object_is_noticed},
        {"settings_of_another_size_are_checked", settings_of_another_size_are_checked},
        {"details_are_those_of_the_last_error", details_are_those_of_the_last_error},
        {"invalid_arguments_have_details", invalid_arguments_have_details},
        {"another_interface_is_noticed", another_interface_is_noticed},
    };
    return RUN_TESTS(tests);
}
