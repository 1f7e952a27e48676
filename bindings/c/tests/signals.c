// The rules of the book for signal handlers, and for threads that end inside their function.
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static int pipe_of_handler[2];
static atomic_uint handled;

static void handler(int number) {
    (void)number;
    // These, and no others of the library.
    if (blitz_now_ns() == 0 || blitz_version()[0] == 0 || blitz_os_error(-5) != 5 ||
        strcmp(blitz_error_name(BLITZ_EINVAL), "BLITZ_EINVAL") != 0 || blitz_strerror(BLITZ_ECLOSED)[0] == 0)
        abort();
    (void)!write(pipe_of_handler[1], "s", 1);
    handled++;
}

static void begin(void) {
    handled = 0;
    CHECK(pipe(pipe_of_handler) == 0);
    CHECK(fcntl(pipe_of_handler[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(pipe_of_handler[1], F_SETFL, O_NONBLOCK) == 0);
    // Without SA_RESTART: system calls that wait are interrupted.
    struct sigaction action = {.sa_handler = handler};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void end(void) {
    CHECK(close(pipe_of_handler[0]) == 0 && close(pipe_of_handler[1]) == 0);
}

static void interrupt(pthread_t thread, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        unsigned before = handled;
        CHECK(pthread_kill(thread, SIGUSR1) == 0);
        while (handled == before) sched_yield();
    }
}

static atomic_bool stop;

static void *use_a_channel(void *argument) {
    (void)argument;
    blitz_sender *sender;
    blitz_receiver *receiver;
    int value = 7;
    OK(blitz_mpsc_new(sizeof(int), 1, &sender, &receiver));
    while (!stop) {
        OK(blitz_send(sender, &value));
        OK(blitz_recv(receiver, &value));
    }
    blitz_sender_free(sender);
    blitz_receiver_free(receiver);
    return NULL;
}

static void a_handler_may_interrupt_the_use_of_a_channel(void) {
    pthread_t thread;
    begin();
    stop = false;
    CHECK(pthread_create(&thread, NULL, use_a_channel, NULL) == 0);
    interrupt(thread, 100);
    stop = true;
    CHECK(pthread_join(thread, NULL) == 0);
    end();
}

static void *read_the_pipe(void *argument) {
    char byte;
    (void)argument;
    OK(blitz_fd_wait(pipe_of_handler[0], BLITZ_FD_READ, BLITZ_NEVER, NULL));
    CHECK(read(pipe_of_handler[0], &byte, 1) == 1 && byte == 's');
    return NULL;
}

static void a_handler_wakes_through_a_pipe(void) {
    struct worker worker;
    begin();
    start(&worker, read_the_pipe, NULL);
    CHECK(raise(SIGUSR1) == 0);
    finish(&worker);
    end();
}

static void *acquire(void *semaphore) {
    OK(blitz_semaphore_acquire(semaphore, 1));
    return NULL;
}

static void a_wait_goes_on_after_a_handler(void) {
    pthread_t thread;
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);
    begin();
    CHECK(pthread_create(&thread, NULL, acquire, &semaphore) == 0);
    interrupt(thread, 10);
    OK(blitz_semaphore_release(&semaphore, 1));
    CHECK(pthread_join(thread, NULL) == 0);
    end();
}

static void *exit_after_use(void *argument) {
    blitz_mutex mutex = BLITZ_MUTEX_INIT;
    blitz_task *task;
    OK(blitz_mutex_lock(&mutex));
    OK(blitz_mutex_unlock(&mutex));
    EXPECT(BLITZ_EINVAL, blitz_mutex_unlock(&mutex));
    OK(blitz_spawn(NULL, NULL, acquire, argument, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    pthread_exit(argument);
}

static void a_thread_that_used_the_library_exits(void) {
    pthread_t thread;
    void *result;
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(1);
    CHECK(pthread_create(&thread, NULL, exit_after_use, &semaphore) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == &semaphore);
}

static atomic_bool acquired;

static void *acquire_without_cancellation(void *semaphore) {
    int state;
    CHECK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state) == 0);
    acquire(semaphore);
    acquired = true;
    CHECK(pthread_setcancelstate(state, NULL) == 0);
    for (;;) pause();
    return NULL;
}

static void a_thread_is_cancelled_between_its_calls(void) {
    pthread_t thread;
    void *result;
    blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);
    acquired = false;
    CHECK(pthread_create(&thread, NULL, acquire_without_cancellation, &semaphore) == 0);
    CHECK(pthread_cancel(thread) == 0);
    OK(blitz_semaphore_release(&semaphore, 1));
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    // Unless the cancellation came before it was switched off.
    CHECK(acquired || blitz_semaphore_available(&semaphore) == 1);
}

int main(void) {
    static const struct test tests[] = {
        {"a_handler_may_interrupt_the_use_of_a_channel", a_handler_may_interrupt_the_use_of_a_channel},
        {"a_handler_wakes_through_a_pipe", a_handler_wakes_through_a_pipe},
        {"a_wait_goes_on_after_a_handler", a_wait_goes_on_after_a_handler},
        {"a_thread_that_used_the_library_exits", a_thread_that_used_the_library_exits},
        {"a_thread_is_cancelled_between_its_calls", a_thread_is_cancelled_between_its_calls},
    };
    return RUN_TESTS(tests);
}
