// A child process after fork: objects that need the parent's threads say so, the others work.
#include "check.h"

#include <pthread.h>
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
    blitz_listener *listener;
    blitz_mutex *mutex;
    blitz_ipc_sender *sender;
};

static void the_child(void *argument) {
    struct parent *parent = argument;
    blitz_stream *stream;
    blitz_task *task;
    EXPECT(BLITZ_EFORKED, blitz_spawn(parent->runtime, NULL, nothing, NULL, NULL));
    EXPECT(BLITZ_EFORKED, blitz_spawn_blocking(parent->runtime, nothing, NULL, NULL));
    EXPECT(BLITZ_EFORKED, blitz_runtime_shutdown(parent->runtime, BLITZ_NEVER));
    blitz_runtime_free(parent->runtime);
    EXPECT(BLITZ_EFORKED, blitz_task_join(parent->task, BLITZ_NEVER, NULL));
    EXPECT(BLITZ_EFORKED, blitz_listener_accept(parent->listener, &stream));
    EXPECT(BLITZ_EFORKED, blitz_parallel_for(NULL, 0, 1000, 0, touch, NULL));
    EXPECT(BLITZ_EFORKED, blitz_ipc_send(parent->sender, "x", 1));
    CHECK(strstr(blitz_last_error(), "fork") != NULL);
    // Objects by value work.
    OK(blitz_mutex_lock(parent->mutex));
    EXPECT(BLITZ_ETIMEDOUT, blitz_mutex_lock_until(parent->mutex, after_ms(2)));
    OK(blitz_mutex_unlock(parent->mutex));
    // The child has a default runtime of its own.
    OK(blitz_spawn(NULL, NULL, nothing, NULL, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    blitz_runtime *own;
    OK(blitz_runtime_new(NULL, &own));
    OK(blitz_spawn(own, NULL, nothing, NULL, &task));
    OK(blitz_task_join(task, BLITZ_NEVER, NULL));
    blitz_runtime_free(own);
}

static void a_child_gets_errors(void) {
    static blitz_mutex mutex = BLITZ_MUTEX_INIT;
    struct parent parent = {.mutex = &mutex};
    blitz_ipc_settings settings = {.kind = BLITZ_IPC_ROUTE};
    char name[64];
    snprintf(name, sizeof name, "c-fork-%d", (int)getpid());
    OK(blitz_mutex_lock(&mutex));
    OK(blitz_mutex_unlock(&mutex));
    OK(blitz_runtime_new(NULL, &parent.runtime));
    OK(blitz_spawn(NULL, NULL, nothing, NULL, &parent.task));
    OK(blitz_tcp_listen("127.0.0.1:0", &parent.listener));
    OK(blitz_parallel_for(NULL, 0, 1000, 0, touch, NULL));
    OK(blitz_ipc_sender_open(name, &settings, &parent.sender));
    in_child(the_child, &parent);
    // The parent goes on.
    OK(blitz_task_join(parent.task, BLITZ_NEVER, NULL));
    OK(blitz_spawn(parent.runtime, NULL, nothing, NULL, &parent.task));
    OK(blitz_task_join(parent.task, BLITZ_NEVER, NULL));
    OK(blitz_ipc_send(parent.sender, "x", 1));
    blitz_ipc_sender_free(parent.sender);
    blitz_listener_free(parent.listener);
    blitz_runtime_free(parent.runtime);
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

int main(void) {
    static const struct test tests[] = {
        {"a_child_gets_errors", a_child_gets_errors},
        {"a_lock_of_another_thread_is_free_in_a_child", a_lock_of_another_thread_is_free_in_a_child},
    };
    return RUN_TESTS(tests);
}
