// A child process after fork: objects that need the parent's threads return an error, the others work.
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *argument) { return argument; }

static void touch(void *argument, size_t begin, size_t end) {
    (void)argument;
    (void)begin;
    (void)end;
}

static void in_child(void (*function)(void *), void *argument) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        function(argument);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct parent {
    blitz_runtime *runtime;
    blitz_task *task;
    blitz_pool *pool;
    blitz_listener *listener;
    blitz_stream *stream;
    blitz_udp *udp;
    blitz_file *file;
    blitz_signal *signal;
    blitz_process *process;
    blitz_fd_watch *watch;
    blitz_mutex *mutex;
    blitz_ipc_sender *sender;
    blitz_ipc_receiver *receiver;
};

static void body_of_scope(blitz_scope *scope, void *argument) {
    (void)scope;
    (void)argument;
}

static void job(void *argument) { (void)argument; }

// Every function of a handle that the parent's threads serve.
static void handles_of_the_parent(struct parent *parent) {
    blitz_task *task = parent->task;
    blitz_stream *stream;
    char buffer[8] = "";
    size_t count;
    const void *message;
    void *room;
    uint64_t length;
    blitz_address address = {.family = 4, .port = 1};
    EXPECT(BLITZ_EFORKED, blitz_spawn(parent->runtime, NULL, nothing, NULL, NULL));
    EXPECT(BLITZ_EFORKED, blitz_spawn_blocking(parent->runtime, nothing, NULL, NULL));
    EXPECT(BLITZ_EFORKED, blitz_runtime_shutdown(parent->runtime, BLITZ_NEVER));
    EXPECT(BLITZ_EFORKED, blitz_task_join(task, BLITZ_NEVER, NULL));
    EXPECT(BLITZ_EFORKED, blitz_task_cancel(task));
    EXPECT(BLITZ_EFORKED, blitz_parallel_for(NULL, 0, 1000, 0, touch, NULL));
    EXPECT(BLITZ_EFORKED, blitz_parallel_for(parent->pool, 0, 1000, 0, touch, NULL));
    EXPECT(BLITZ_EFORKED, blitz_join(parent->pool, job, NULL, job, NULL));
    EXPECT(BLITZ_EFORKED, blitz_scope_run(parent->pool, body_of_scope, NULL));
    EXPECT(BLITZ_EFORKED, blitz_listener_accept(parent->listener, &stream));
    EXPECT(BLITZ_EFORKED, blitz_listener_accept_until(parent->listener, after_ms(2), &stream));
    EXPECT(BLITZ_EFORKED, blitz_listener_try_accept(parent->listener, &stream));
    EXPECT(BLITZ_EFORKED, blitz_stream_read(parent->stream, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_read_until(parent->stream, buffer, 1, 0, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_try_read(parent->stream, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_read_exact(parent->stream, buffer, 1, 0, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_write(parent->stream, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_write_until(parent->stream, buffer, 1, 0, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_try_write(parent->stream, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_stream_write_all(parent->stream, buffer, 1, 0, &count));
    EXPECT(BLITZ_EFORKED, blitz_udp_send(parent->udp, buffer, 1, &address, 0));
    EXPECT(BLITZ_EFORKED, blitz_udp_recv(parent->udp, buffer, 1, 0, &count, NULL));
    EXPECT(BLITZ_EFORKED, blitz_udp_try_recv(parent->udp, buffer, 1, &count, NULL));
    EXPECT(BLITZ_EFORKED, blitz_file_read(parent->file, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_file_write(parent->file, buffer, 1));
    EXPECT(BLITZ_EFORKED, blitz_file_seek(parent->file, 0, BLITZ_SEEK_SET, NULL));
    EXPECT(BLITZ_EFORKED, blitz_file_sync(parent->file, false));
    EXPECT(BLITZ_EFORKED, blitz_file_len(parent->file, &length));
    EXPECT(BLITZ_EFORKED, blitz_file_set_len(parent->file, 1));
    EXPECT(BLITZ_EFORKED, blitz_signal_wait(parent->signal, 0));
    EXPECT(BLITZ_EFORKED, blitz_process_wait(parent->process, 0, NULL));
    EXPECT(BLITZ_EFORKED, blitz_fd_watch_wait(parent->watch, BLITZ_FD_READ, 0));
    EXPECT(BLITZ_EFORKED, blitz_ipc_send(parent->sender, "x", 1));
    EXPECT(BLITZ_EFORKED, blitz_ipc_try_send(parent->sender, "x", 1));
    EXPECT(BLITZ_EFORKED, blitz_ipc_loan(parent->sender, 1, 0, &room));
    EXPECT(BLITZ_EFORKED, blitz_ipc_recv(parent->receiver, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_ipc_try_recv(parent->receiver, buffer, 1, &count));
    EXPECT(BLITZ_EFORKED, blitz_ipc_take(parent->receiver, 0, &message, &count));
    EXPECT(BLITZ_EFORKED, blitz_ipc_try_recv_or_arm(parent->receiver, buffer, 1, &count));
    CHECK(strstr(blitz_last_error(), "fork") != NULL);
}

// Frees objects that the parent still uses.
static void free_handles_of_the_parent(struct parent *parent) {
    blitz_runtime_free(parent->runtime);
    blitz_pool_free(parent->pool);
    blitz_task_detach(parent->task);
    blitz_listener_free(parent->listener);
    blitz_stream_free(parent->stream);
    blitz_udp_free(parent->udp);
    blitz_file_free(parent->file);
    blitz_signal_free(parent->signal);
    blitz_process_free(parent->process);
    blitz_fd_watch_free(parent->watch);
    blitz_ipc_sender_free(parent->sender);
    blitz_ipc_receiver_free(parent->receiver);
}

// The objects that a child can use, in the state in which `fork` leaves them.
static void everything_of_its_own(void) {
    blitz_runtime *runtime;
    blitz_pool *pool;
    blitz_task *task;
    blitz_sender *sender;
    blitz_receiver *receiver;
    blitz_listener *listener;
    blitz_stream *one, *other;
    blitz_address address;
    blitz_event event = BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO);
    uint32_t word = 0;
    char buffer[8];
    size_t count;
    long value = 7;
    CHECK(!blitz_is_fiber());
    OK(blitz_sleep_ns(1000000));
    OK(blitz_yield());
    EXPECT(BLITZ_ETIMEDOUT, blitz_event_wait_until(&event, after_ms(2)));
    EXPECT(BLITZ_ETIMEDOUT, blitz_futex_wait_until(&word, 0, BLITZ_FUTEX_PRIVATE, after_ms(2)));
    OK(blitz_mpsc_new(sizeof value, 1, &sender, &receiver));
    OK(blitz_spawn(NULL, NULL, nothing, NULL, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    EXPECT(BLITZ_ETIMEDOUT, blitz_recv_until(receiver, &value, after_ms(2)));
    OK(blitz_send(sender, &value));
    EXPECT(BLITZ_ETIMEDOUT, blitz_send_until(sender, &value, after_ms(2)));
    OK(blitz_recv(receiver, &value));
    OK(blitz_runtime_new(NULL, &runtime));
    OK(blitz_spawn(runtime, NULL, nothing, NULL, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    OK(blitz_tcp_listen("127.0.0.1:0", &listener));
    OK(blitz_listener_address(listener, &address));
    OK(blitz_tcp_connect_address(&address, BLITZ_NEVER, &one));
    OK(blitz_listener_accept(listener, &other));
    OK(blitz_stream_write_all(one, "1234", 4, BLITZ_NEVER, NULL));
    OK(blitz_stream_read_exact(other, buffer, 4, BLITZ_NEVER, NULL));
    EXPECT(BLITZ_ETIMEDOUT, blitz_stream_read_until(other, buffer, 4, after_ms(2), &count));
    EXPECT(BLITZ_ETIMEDOUT,
           blitz_fd_wait(blitz_stream_fd(other), BLITZ_FD_READ, after_ms(2), NULL));
    OK(blitz_pool_new(2, &pool));
    OK(blitz_parallel_for(pool, 0, 1000, 0, touch, NULL));
    blitz_pool_free(pool);
    blitz_stream_free(one);
    blitz_stream_free(other);
    blitz_listener_free(listener);
    blitz_sender_free(sender);
    blitz_receiver_free(receiver);
    blitz_runtime_free(runtime);
}

static void the_child(void *argument) {
    struct parent *parent = argument;
    handles_of_the_parent(parent);
    // Objects by value work.
    OK(blitz_mutex_lock(parent->mutex));
    EXPECT(BLITZ_ETIMEDOUT, blitz_mutex_lock_until(parent->mutex, after_ms(2)));
    OK(blitz_mutex_unlock(parent->mutex));
    everything_of_its_own();
    free_handles_of_the_parent(parent);
}

static void *accept_one(void *listener) {
    blitz_stream *stream;
    OK(blitz_listener_accept(listener, &stream));
    blitz_stream_free(stream);
    return NULL;
}

// The parent still uses the objects that its child has freed. Its fibers wait for descriptors.
static void *the_parent_goes_on(void *argument) {
    struct parent *parent = argument;
    blitz_address address;
    blitz_stream *client;
    blitz_task *task;
    char buffer[8];
    size_t count;
    OK(blitz_task_join(parent->task, BLITZ_NEVER, NULL));
    OK(blitz_spawn(parent->runtime, NULL, nothing, NULL, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    // Each waits before there is something.
    OK(blitz_listener_address(parent->listener, &address));
    OK(blitz_spawn(NULL, NULL, accept_one, parent->listener, &task));
    OK(blitz_sleep_ns(2000000));
    OK(blitz_tcp_connect_address(&address, BLITZ_NEVER, &client));
    OK(blitz_task_join(task, after_ms(60000), NULL));
    blitz_stream_free(client);
    OK(blitz_udp_address(parent->udp, &address));
    EXPECT(BLITZ_ETIMEDOUT,
           blitz_udp_recv(parent->udp, buffer, sizeof buffer, after_ms(2), &count, NULL));
    OK(blitz_udp_send(parent->udp, "udp", 3, &address, BLITZ_NEVER));
    OK(blitz_udp_recv(parent->udp, buffer, sizeof buffer, after_ms(60000), &count, NULL));
    EXPECT(BLITZ_ETIMEDOUT, blitz_fd_watch_wait(parent->watch, BLITZ_FD_READ, after_ms(2)));
    OK(blitz_udp_send(parent->udp, "udp", 3, &address, BLITZ_NEVER));
    OK(blitz_fd_watch_wait(parent->watch, BLITZ_FD_READ, after_ms(60000)));
    OK(blitz_ipc_send(parent->sender, "x", 1));
    OK(blitz_ipc_recv(parent->receiver, buffer, sizeof buffer, &count));
    EXPECT(BLITZ_ETIMEDOUT,
           blitz_ipc_recv_until(parent->receiver, buffer, sizeof buffer, after_ms(2), &count));
    // It runs until it is killed: the child has not done that.
    EXPECT(BLITZ_ETIMEDOUT, blitz_process_wait(parent->process, after_ms(2), NULL));
    OK(blitz_process_kill(parent->process));
    OK(blitz_process_wait(parent->process, BLITZ_NEVER, NULL));
    return NULL;
}

static void a_child_gets_errors(void) {
    static blitz_mutex mutex = BLITZ_MUTEX_INIT;
    static const char *const second[] = {"60", NULL};
    struct parent parent = {.mutex = &mutex};
    struct worker worker;
    blitz_stream *other;
    blitz_ipc_settings settings = {.size = sizeof(blitz_ipc_settings), .kind = BLITZ_IPC_ROUTE};
    blitz_process_settings sleep = {.size = sizeof(blitz_process_settings), .program = "sleep", .arguments = second, .kill_on_free = true};
    char name[64];
    snprintf(name, sizeof name, "c-fork-%d", (int)getpid());
    OK(blitz_mutex_lock(&mutex));
    OK(blitz_mutex_unlock(&mutex));
    OK(blitz_runtime_new(NULL, &parent.runtime));
    OK(blitz_spawn(NULL, NULL, nothing, NULL, &parent.task));
    OK(blitz_pool_new(2, &parent.pool));
    OK(blitz_tcp_listen("127.0.0.1:0", &parent.listener));
    OK(blitz_unix_pair(&parent.stream, &other));
    OK(blitz_udp_bind("127.0.0.1:0", &parent.udp));
    OK(blitz_file_open("/dev/null", BLITZ_OPEN_READ | BLITZ_OPEN_WRITE, 0, &parent.file));
    OK(blitz_signal_new(SIGUSR2, &parent.signal));
    OK(blitz_process_spawn(&sleep, &parent.process));
    OK(blitz_fd_watch_new(blitz_udp_fd(parent.udp), &parent.watch));
    OK(blitz_parallel_for(NULL, 0, 1000, 0, touch, NULL));
    OK(blitz_ipc_sender_open(name, &settings, &parent.sender));
    OK(blitz_ipc_receiver_open(name, &settings, &parent.receiver));
    in_child(the_child, &parent);
    start(&worker, the_parent_goes_on, &parent);
    finish(&worker);
    blitz_stream_free(other);
    parent.task = NULL;
    free_handles_of_the_parent(&parent);
}

static void only_its_own(void *argument) {
    (void)argument;
    everything_of_its_own();
}

static void *send_numbers(void *sender) {
    for (int number = 0; number < 1000; number++) OK(blitz_send(sender, &number));
    return NULL;
}

// More waits than a poll of a fiber may end without a pause, and each of them blocks the thread.
static void many_waits(void) {
    pthread_t thread;
    blitz_sender *sender;
    blitz_receiver *receiver;
    OK(blitz_mpmc_new(sizeof(int), 1, &sender, &receiver));
    CHECK(pthread_create(&thread, NULL, send_numbers, sender) == 0);
    for (int number = 0, received; number < 1000; number++) {
        OK(blitz_recv(receiver, &received));
        CHECK(received == number);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    blitz_sender_free(sender);
    blitz_receiver_free(receiver);
}

static void waits_like_a_thread(void *argument) {
    only_its_own(argument);
    many_waits();
}

static void *fork_here(void *argument) {
    in_child(waits_like_a_thread, NULL);
    return argument;
}

// In the child the runtime that runs the caller has no threads.
static void a_fiber_and_a_blocking_function_may_fork(void) {
    blitz_task *tasks[2];
    OK(blitz_spawn(NULL, NULL, fork_here, NULL, &tasks[0]));
    OK(blitz_spawn_blocking(NULL, fork_here, NULL, &tasks[1]));
    for (int i = 0; i < 2; i++) OK(blitz_task_join(tasks[i], BLITZ_NEVER, NULL));
}

static void spawn_and_join(void *argument) {
    (void)argument;
    blitz_runtime *own;
    blitz_task *tasks[100];
    OK(blitz_runtime_new(NULL, &own));
    for (size_t i = 0; i < 100; i++) OK(blitz_spawn(own, NULL, nothing, NULL, &tasks[i]));
    for (size_t i = 0; i < 100; i++) OK(blitz_task_join(tasks[i], BLITZ_NEVER, NULL));
    blitz_runtime_free(own);
    OK(blitz_spawn(NULL, NULL, nothing, NULL, &tasks[0]));
    OK(blitz_task_join(tasks[0], BLITZ_NEVER, NULL));
}

static void *spawn_until_told(void *stop) {
    while (!atomic_load((atomic_bool *)stop)) spawn_and_join(NULL);
    return NULL;
}

// Another thread takes all locks of the library, and some of the forks happen while it has one.
static void a_lock_of_another_thread_is_free_in_a_child(void) {
    static atomic_bool stop;
    pthread_t thread;
    spawn_and_join(NULL);
    CHECK(pthread_create(&thread, NULL, spawn_until_told, &stop) == 0);
    for (int i = 0; i < 50; i++) in_child(spawn_and_join, NULL);
    atomic_store(&stop, true);
    CHECK(pthread_join(thread, NULL) == 0);
}

// Many fibers of the parent wait for this word, and are woken all the time.
static uint32_t awaited;

static void *wait_again_and_again(void *stop) {
    while (!atomic_load((atomic_bool *)stop))
        (void)blitz_futex_wait(&awaited, 0, BLITZ_FUTEX_PRIVATE);
    return NULL;
}

static void *wake_again_and_again(void *stop) {
    while (!atomic_load((atomic_bool *)stop))
        OK(blitz_futex_wake_all(&awaited, BLITZ_FUTEX_PRIVATE));
    return NULL;
}

static void wake_in_child(void *argument) {
    size_t woken = 1;
    (void)argument;
    alarm(60);
    OK(blitz_futex_wake(&awaited, SIZE_MAX, BLITZ_FUTEX_PRIVATE, &woken));
    // The fibers of the parent do not exist here.
    CHECK(woken == 0);
}

// The table of the fibers that wait for words is one of each process.
static void words_are_free_in_a_child(void) {
    atomic_bool stop = false;
    blitz_task *fibers[64];
    struct worker waker;
    for (int i = 0; i < 64; i++) OK(blitz_spawn(NULL, NULL, wait_again_and_again, &stop, &fibers[i]));
    start(&waker, wake_again_and_again, &stop);
    for (int i = 0; i < 100; i++) in_child(wake_in_child, NULL);
    atomic_store(&stop, true);
    finish(&waker);
    // None sleeps from now on.
    __atomic_store_n(&awaited, 1, __ATOMIC_RELEASE);
    OK(blitz_futex_wake_all(&awaited, BLITZ_FUTEX_PRIVATE));
    for (int i = 0; i < 64; i++) OK(blitz_task_join(fibers[i], BLITZ_NEVER, NULL));
    __atomic_store_n(&awaited, 0, __ATOMIC_RELEASE);
}

int main(void) {
    static const struct test tests[] = {
        {"words_are_free_in_a_child", words_are_free_in_a_child},
        {"a_child_gets_errors", a_child_gets_errors},
        {"a_fiber_and_a_blocking_function_may_fork", a_fiber_and_a_blocking_function_may_fork},
        {"a_lock_of_another_thread_is_free_in_a_child", a_lock_of_another_thread_is_free_in_a_child},
    };
    return RUN_TESTS(tests);
}
