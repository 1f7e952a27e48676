// Each function that waits, in a fiber of a runtime with one thread. It suspends its fiber only: another
// fiber of the thread runs meanwhile. And it ends when the fiber is cancelled, or stays if it is a wait
// that cancellation does not end.
#include "check.h"

#include <signal.h>
#include <unistd.h>

// The objects of the waits. Nothing happens to any of it, so each wait would last for ever.
static struct {
    blitz_runtime *runtime;
    blitz_mutex mutex, own;
    blitz_rwlock written, read;
    blitz_condvar condvar;
    blitz_semaphore semaphore;
    blitz_barrier barrier;
    blitz_latch latch;
    blitz_event event;
    blitz_parker parker;
    blitz_once once;
    uint32_t word;
    blitz_sender *full_mpsc, *full_mpmc, *meeting, *oneshot, *broadcast, *watch;
    blitz_receiver *mpsc, *mpmc, *meets, *one, *all, *latest;
    blitz_sender *empty_sender, *empty_mpmc_sender;
    blitz_receiver *empty, *empty_mpmc;
    blitz_task *sleeper;
    blitz_listener *tcp, *local;
    blitz_stream *idle, *other_idle, *crowded, *other_crowded;
    blitz_udp *udp;
    blitz_fd_watch *watched;
    blitz_process *process;
    blitz_signal *signal;
    blitz_ipc_sender *ipc_full, *ipc_quiet;
    blitz_ipc_receiver *ipc_slow, *ipc_empty;
} of;

static long value;
static char buffer[1 << 16];
static size_t count;
static const void *message;
static void *room;
static blitz_stream *stream;

#define FAR after_ms(3600 * 1000)

// A function `wait_NAME` that calls a function of the library.
#define WAIT(name, call) \
    static int wait_##name(void) { return call; }

WAIT(barrier, blitz_barrier_wait(&of.barrier, NULL))
WAIT(barrier_until, blitz_barrier_wait_until(&of.barrier, FAR, NULL))
WAIT(event, blitz_event_wait(&of.event))
WAIT(event_until, blitz_event_wait_until(&of.event, FAR))
WAIT(latch, blitz_latch_wait(&of.latch))
WAIT(latch_until, blitz_latch_wait_until(&of.latch, FAR))
WAIT(parker, blitz_parker_park(&of.parker))
WAIT(parker_until, blitz_parker_park_until(&of.parker, FAR))
WAIT(semaphore, blitz_semaphore_acquire(&of.semaphore, 1))
WAIT(semaphore_until, blitz_semaphore_acquire_until(&of.semaphore, 1, FAR))
WAIT(futex, blitz_futex_wait(&of.word, 0, BLITZ_FUTEX_PRIVATE))
WAIT(futex_until, blitz_futex_wait_until(&of.word, 0, BLITZ_FUTEX_PRIVATE, FAR))
WAIT(futex_shared, blitz_futex_wait(&of.word, 0, BLITZ_FUTEX_SHARED))
WAIT(futex_different,
     blitz_futex_block_until_different(&of.word, 0, BLITZ_FUTEX_PRIVATE, BLITZ_NEVER, NULL))
WAIT(send_mpsc, blitz_send(of.full_mpsc, &value))
WAIT(send_mpsc_until, blitz_send_until(of.full_mpsc, &value, FAR))
WAIT(send_mpmc, blitz_send(of.full_mpmc, &value))
WAIT(send_mpmc_until, blitz_send_until(of.full_mpmc, &value, FAR))
WAIT(send_meeting, blitz_send(of.meeting, &value))
WAIT(recv_mpsc, blitz_recv(of.empty, &value))
WAIT(recv_mpsc_until, blitz_recv_until(of.empty, &value, FAR))
WAIT(recv_mpmc, blitz_recv(of.empty_mpmc, &value))
WAIT(recv_mpmc_until, blitz_recv_until(of.empty_mpmc, &value, FAR))
WAIT(recv_oneshot, blitz_recv(of.one, &value))
WAIT(recv_broadcast, blitz_recv(of.all, &value))
WAIT(recv_watch, blitz_recv(of.latest, &value))
WAIT(closed_mpsc, blitz_sender_wait_closed(of.empty_sender, BLITZ_NEVER))
WAIT(closed_mpmc, blitz_sender_wait_closed(of.empty_mpmc_sender, BLITZ_NEVER))
WAIT(closed_oneshot, blitz_sender_wait_closed(of.oneshot, FAR))
WAIT(closed_broadcast, blitz_sender_wait_closed(of.broadcast, FAR))
WAIT(closed_watch, blitz_sender_wait_closed(of.watch, FAR))
WAIT(sleep, blitz_sleep_until(BLITZ_NEVER))
WAIT(sleep_for, blitz_sleep_ns(3600ull * 1000 * 1000 * 1000))
WAIT(join, blitz_task_join(of.sleeper, BLITZ_NEVER, NULL))
WAIT(join_until, blitz_task_join(of.sleeper, FAR, NULL))
WAIT(accept, blitz_listener_accept(of.tcp, &stream))
WAIT(accept_until, blitz_listener_accept_until(of.tcp, FAR, &stream))
WAIT(accept_local, blitz_listener_accept(of.local, &stream))
WAIT(read, blitz_stream_read(of.idle, buffer, 1, &count))
WAIT(read_until, blitz_stream_read_until(of.idle, buffer, 1, FAR, &count))
WAIT(read_exact, blitz_stream_read_exact(of.idle, buffer, 1, BLITZ_NEVER, NULL))
WAIT(write, blitz_stream_write(of.crowded, buffer, sizeof buffer, &count))
WAIT(write_until, blitz_stream_write_until(of.crowded, buffer, sizeof buffer, FAR, &count))
WAIT(write_all, blitz_stream_write_all(of.crowded, buffer, sizeof buffer, BLITZ_NEVER, NULL))
WAIT(udp, blitz_udp_recv(of.udp, buffer, 1, BLITZ_NEVER, &count, NULL))
WAIT(udp_until, blitz_udp_recv(of.udp, buffer, 1, FAR, &count, NULL))
WAIT(fd, blitz_fd_wait(blitz_stream_fd(of.idle), BLITZ_FD_READ, BLITZ_NEVER, NULL))
WAIT(fd_until, blitz_fd_wait(blitz_stream_fd(of.idle), BLITZ_FD_READ, FAR, NULL))
WAIT(fd_watch, blitz_fd_watch_wait(of.watched, BLITZ_FD_READ, BLITZ_NEVER))
WAIT(process, blitz_process_wait(of.process, BLITZ_NEVER, NULL))
WAIT(signal, blitz_signal_wait(of.signal, BLITZ_NEVER))
WAIT(ipc_send, blitz_ipc_send(of.ipc_full, &value, sizeof value))
WAIT(ipc_send_until, blitz_ipc_send_until(of.ipc_full, &value, sizeof value, FAR))
WAIT(ipc_loan, blitz_ipc_loan(of.ipc_full, sizeof value, BLITZ_NEVER, &room))
WAIT(ipc_recv, blitz_ipc_recv(of.ipc_empty, &value, sizeof value, &count))
WAIT(ipc_recv_until, blitz_ipc_recv_until(of.ipc_empty, &value, sizeof value, FAR, &count))
WAIT(ipc_take, blitz_ipc_take(of.ipc_empty, BLITZ_NEVER, &message, &count))

static int wait_condvar(void) {
    OK(blitz_mutex_lock(&of.own));
    int result = blitz_condvar_wait(&of.condvar, &of.own);
    OK(blitz_mutex_unlock(&of.own));
    return result;
}

static int wait_condvar_until(void) {
    OK(blitz_mutex_lock(&of.own));
    int result = blitz_condvar_wait_until(&of.condvar, &of.own, FAR);
    OK(blitz_mutex_unlock(&of.own));
    return result;
}

static int wait_futex_any(void) {
    const blitz_futex_waiter waiters[] = {{&of.word, 0}, {&of.word, 0}};
    size_t index;
    return blitz_futex_wait_any(waiters, 2, BLITZ_FUTEX_PRIVATE, BLITZ_NEVER, &index);
}

static int wait_select(void) {
    blitz_case cases[] = {
        {.receiver = of.empty, .value = &value},     {.sender = of.full_mpsc, .value = &value},
        {.receiver = of.empty_mpmc, .value = &value}, {.sender = of.full_mpmc, .value = &value},
        {.receiver = of.one, .value = &value},       {.receiver = of.all, .value = &value},
        {.receiver = of.latest, .value = &value},    {.sender = of.meeting, .value = &value},
    };
    size_t index;
    return blitz_select(cases, sizeof cases / sizeof cases[0], BLITZ_NEVER, &index);
}

#define CASE(name) {#name, wait_##name}
static const struct wait {
    const char *name;
    int (*function)(void);
} cancelled_waits[] = {
    CASE(barrier), CASE(barrier_until), CASE(condvar), CASE(condvar_until), CASE(event),
    CASE(event_until), CASE(latch), CASE(latch_until), CASE(parker), CASE(parker_until),
    CASE(semaphore), CASE(semaphore_until), CASE(futex), CASE(futex_until), CASE(futex_shared),
    CASE(futex_different), CASE(futex_any), CASE(send_mpsc), CASE(send_mpsc_until), CASE(send_mpmc),
    CASE(send_mpmc_until), CASE(send_meeting), CASE(recv_mpsc), CASE(recv_mpsc_until),
    CASE(recv_mpmc), CASE(recv_mpmc_until), CASE(recv_oneshot), CASE(recv_broadcast),
    CASE(recv_watch), CASE(closed_mpsc), CASE(closed_mpmc), CASE(closed_oneshot),
    CASE(closed_broadcast), CASE(closed_watch), CASE(select), CASE(sleep), CASE(sleep_for),
    CASE(join), CASE(join_until), CASE(accept), CASE(accept_until), CASE(accept_local), CASE(read),
    CASE(read_until), CASE(read_exact), CASE(write), CASE(write_until), CASE(write_all), CASE(udp),
    CASE(udp_until), CASE(fd), CASE(fd_until), CASE(fd_watch), CASE(process), CASE(signal),
    CASE(ipc_send), CASE(ipc_send_until), CASE(ipc_loan), CASE(ipc_recv), CASE(ipc_recv_until),
    CASE(ipc_take),
};

// Waits that cancellation does not end, and how they end.
static void do_nothing(void *argument) { (void)argument; }

WAIT(mutex, blitz_mutex_lock(&of.mutex))
WAIT(mutex_until, blitz_mutex_lock_until(&of.mutex, FAR))
WAIT(rwlock_read, blitz_rwlock_read(&of.written))
WAIT(rwlock_read_until, blitz_rwlock_read_until(&of.written, FAR))
WAIT(rwlock_write, blitz_rwlock_write(&of.read))
WAIT(rwlock_write_until, blitz_rwlock_write_until(&of.read, FAR))
WAIT(once, blitz_once_call(&of.once, do_nothing, NULL))
WAIT(once_until, blitz_once_call_until(&of.once, do_nothing, NULL, FAR))

// Ends the wait, and releases its result.
static void end_mutex(void) { OK(blitz_mutex_unlock(&of.mutex)); }
static void end_written(void) { OK(blitz_rwlock_unlock_write(&of.written)); }
static void end_read(void) { OK(blitz_rwlock_unlock_read(&of.read)); }
static void end_once(void) { OK(blitz_event_set(&of.event)); }
static void again_mutex(void) { CHECK(blitz_mutex_try_lock(&of.mutex) == BLITZ_EAGAIN); }
static void again_written(void) {
    OK(blitz_rwlock_unlock_read(&of.written));
    OK(blitz_rwlock_write(&of.written));
}
static void again_read(void) {
    OK(blitz_rwlock_unlock_write(&of.read));
    OK(blitz_rwlock_read(&of.read));
}

static void wait_for_the_event(void *argument) {
    (void)argument;
    OK(blitz_event_wait(&of.event));
}

static void *run_once(void *argument) {
    OK(blitz_once_call(&of.once, wait_for_the_event, NULL));
    return argument;
}

static void again_once(void) {
    OK(blitz_event_reset(&of.event));
    of.once = (blitz_once)BLITZ_ONCE_INIT;
    OK(blitz_spawn(NULL, NULL, run_once, NULL, NULL));
    // The first word is that of the protocol, which changes when the call begins.
    while (__atomic_load_n(&of.once.state, __ATOMIC_ACQUIRE) == 0) OK(blitz_yield());
}

#define MASKED(name, object) {{#name, wait_##name}, end_##object, again_##object}
static const struct masked {
    struct wait wait;
    void (*end)(void);
    void (*again)(void);
} masked_waits[] = {
    MASKED(mutex, mutex),           MASKED(mutex_until, mutex),
    MASKED(rwlock_read, written),   MASKED(rwlock_read_until, written),
    MASKED(rwlock_write, read),     MASKED(rwlock_write_until, read),
    MASKED(once, once),             MASKED(once_until, once),
};

static atomic_bool begun;

static void *wait_in_fiber(void *argument) {
    const struct wait *wait = argument;
    CHECK(blitz_is_fiber());
    atomic_store(&begun, true);
    return (void *)(intptr_t)wait->function();
}

static void *nothing(void *argument) { return argument; }

// The thread of the runtime runs another fiber.
static void the_thread_goes_on(void) {
    blitz_task *task;
    OK(blitz_spawn(of.runtime, NULL, nothing, NULL, &task));
    OK(blitz_task_join(task, after_ms(60000), NULL));
}

// Starts a fiber that waits, and returns when it is suspended.
static blitz_task *start_wait(const struct wait *wait) {
    blitz_task *task;
    printf("  %s\n", wait->name);
    fflush(stdout);
    atomic_store(&begun, false);
    OK(blitz_spawn(of.runtime, NULL, wait_in_fiber, (void *)(uintptr_t)wait, &task));
    while (!atomic_load(&begun)) OK(blitz_yield());
    // Between its begin and its wait no other fiber runs.
    the_thread_goes_on();
    CHECK(!blitz_task_is_done(task));
    return task;
}

static void expect_end(int expected, blitz_task *task) {
    void *result;
    OK(blitz_task_join(task, after_ms(60000), &result));
    EXPECT(expected, (int)(intptr_t)result);
}

static void cancel_ends_a_wait(void) {
    for (size_t i = 0; i < sizeof cancelled_waits / sizeof cancelled_waits[0]; i++) {
        blitz_task *task = start_wait(&cancelled_waits[i]);
        OK(blitz_task_cancel(task));
        expect_end(BLITZ_ECANCELED, task);
    }
}

static void cancel_leaves_a_wait_for_a_lock(void) {
    again_once();
    for (size_t i = 0; i < sizeof masked_waits / sizeof masked_waits[0]; i++) {
        blitz_task *task = start_wait(&masked_waits[i].wait);
        OK(blitz_task_cancel(task));
        the_thread_goes_on();
        CHECK(!blitz_task_is_done(task));
        masked_waits[i].end();
        expect_end(BLITZ_OK, task);
        masked_waits[i].again();
    }
    end_once();
}

static void *sleep_for_ever(void *argument) {
    blitz_sleep_until(BLITZ_NEVER);
    return argument;
}

static void open_channels(void) {
    OK(blitz_mpsc_new(sizeof value, 1, &of.full_mpsc, &of.mpsc));
    OK(blitz_mpmc_new(sizeof value, 1, &of.full_mpmc, &of.mpmc));
    OK(blitz_mpmc_new(sizeof value, 0, &of.meeting, &of.meets));
    OK(blitz_mpsc_new(sizeof value, 1, &of.empty_sender, &of.empty));
    OK(blitz_mpmc_new(sizeof value, 1, &of.empty_mpmc_sender, &of.empty_mpmc));
    OK(blitz_oneshot_new(sizeof value, &of.oneshot, &of.one));
    OK(blitz_broadcast_new(sizeof value, 1, &of.broadcast, &of.all));
    OK(blitz_watch_new(sizeof value, &value, &of.watch, &of.latest));
    OK(blitz_send(of.full_mpsc, &value));
    OK(blitz_send(of.full_mpmc, &value));
}

static void open_system(void) {
    static const char *const minute[] = {"600", NULL};
    blitz_process_settings sleeps = {
        .size = sizeof(blitz_process_settings),
        .program = "sleep", .arguments = minute, .kill_on_free = true};
    char path[64];
    snprintf(path, sizeof path, "/tmp/blitz-c-waits-%d", (int)getpid());
    OK(blitz_tcp_listen("127.0.0.1:0", &of.tcp));
    OK(blitz_unix_listen(path, &of.local));
    CHECK(unlink(path) == 0);
    OK(blitz_unix_pair(&of.idle, &of.other_idle));
    OK(blitz_unix_pair(&of.crowded, &of.other_crowded));
    while (blitz_stream_try_write(of.crowded, buffer, sizeof buffer, &count) == BLITZ_OK) {}
    OK(blitz_udp_bind("127.0.0.1:0", &of.udp));
    OK(blitz_fd_watch_new(blitz_stream_fd(of.idle), &of.watched));
    OK(blitz_process_spawn(&sleeps, &of.process));
    OK(blitz_signal_new(SIGUSR1, &of.signal));
}

static void open_ipc(void) {
    char name[64];
    blitz_ipc_settings settings = {.size = sizeof(blitz_ipc_settings), .kind = BLITZ_IPC_ROUTE, .capacity = 2};
    snprintf(name, sizeof name, "c-waits-full-%d", (int)getpid());
    OK(blitz_ipc_sender_open(name, &settings, &of.ipc_full));
    OK(blitz_ipc_receiver_open(name, &settings, &of.ipc_slow));
    while (blitz_ipc_try_send(of.ipc_full, &value, sizeof value) == BLITZ_OK) {}
    snprintf(name, sizeof name, "c-waits-empty-%d", (int)getpid());
    OK(blitz_ipc_sender_open(name, &settings, &of.ipc_quiet));
    OK(blitz_ipc_receiver_open(name, &settings, &of.ipc_empty));
}

static void free_all(void) {
    OK(blitz_task_cancel(of.sleeper));
    OK(blitz_task_join(of.sleeper, BLITZ_NEVER, NULL));
    blitz_sender *senders[] = {of.full_mpsc, of.full_mpmc, of.meeting,      of.oneshot,
                               of.broadcast, of.watch,     of.empty_sender, of.empty_mpmc_sender};
    blitz_receiver *receivers[] = {of.mpsc, of.mpmc,   of.meets, of.one,
                                   of.all,  of.latest, of.empty, of.empty_mpmc};
    blitz_stream *streams[] = {of.idle, of.other_idle, of.crowded, of.other_crowded};
    for (int i = 0; i < 8; i++) blitz_sender_free(senders[i]);
    for (int i = 0; i < 8; i++) blitz_receiver_free(receivers[i]);
    blitz_fd_watch_free(of.watched);
    for (int i = 0; i < 4; i++) blitz_stream_free(streams[i]);
    blitz_listener_free(of.tcp);
    blitz_listener_free(of.local);
    blitz_udp_free(of.udp);
    blitz_process_free(of.process);
    blitz_signal_free(of.signal);
    blitz_ipc_sender_free(of.ipc_full);
    blitz_ipc_sender_free(of.ipc_quiet);
    blitz_ipc_receiver_free(of.ipc_slow);
    blitz_ipc_receiver_free(of.ipc_empty);
    blitz_runtime_free(of.runtime);
}

int main(void) {
    const blitz_runtime_settings one = {.size = sizeof(blitz_runtime_settings), .workers = 1};
    OK(blitz_runtime_new(&one, &of.runtime));
    of.barrier = (blitz_barrier)BLITZ_BARRIER_INIT(1000000);
    of.latch = (blitz_latch)BLITZ_LATCH_INIT(1);
    OK(blitz_mutex_lock(&of.mutex));
    OK(blitz_rwlock_write(&of.written));
    OK(blitz_rwlock_read(&of.read));
    OK(blitz_spawn(NULL, NULL, sleep_for_ever, NULL, &of.sleeper));
    open_channels();
    open_system();
    open_ipc();
    cancel_ends_a_wait();
    cancel_leaves_a_wait_for_a_lock();
    free_all();
    puts("test result: ok");
    return 0;
}
