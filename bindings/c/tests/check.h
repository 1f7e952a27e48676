// The common parts of the tests: a check that ends the program, and workers that are threads or fibers.
#ifndef CHECK_H
#define CHECK_H

#include <blitz.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition,      \
                    blitz_last_error());                                                         \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

// Expects an error by its name.
#define EXPECT(expected, call)                                                                   \
    do {                                                                                         \
        int result_ = (call);                                                                    \
        if (result_ != (expected)) {                                                             \
            fprintf(stderr, "%s:%d: %s is %s and not %s (last error: %s)\n", __FILE__, __LINE__, \
                    #call, blitz_error_name(result_), #expected, blitz_last_error());            \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

#define OK(call) EXPECT(BLITZ_OK, call)

static inline uint64_t after_ms(uint64_t milliseconds) {
    return blitz_now_ns() + milliseconds * 1000000;
}

// The workers of the current test: threads, fibers, or one after the other.
enum flavour { THREADS, FIBERS, MIXED };
static enum flavour flavour;
static atomic_uint started;

struct worker {
    bool is_fiber;
    pthread_t thread;
    blitz_task *task;
    void *(*function)(void *);
    void *argument;
};

static inline void start(struct worker *worker, void *(*function)(void *), void *argument) {
    worker->function = function;
    worker->argument = argument;
    worker->is_fiber = flavour == FIBERS || (flavour == MIXED && started++ % 2 == 0);
    if (worker->is_fiber) {
        OK(blitz_spawn(NULL, NULL, function, argument, &worker->task));
    } else {
        CHECK(pthread_create(&worker->thread, NULL, function, argument) == 0);
    }
}

static inline void *join_thread(void *argument) {
    void *result = NULL;
    CHECK(pthread_join(((struct worker *)argument)->thread, &result) == 0);
    return result;
}

static inline void *finish(struct worker *worker) {
    void *result = NULL;
    if (worker->is_fiber) {
        OK(blitz_task_join(worker->task, BLITZ_NEVER, &result));
    } else if (blitz_is_fiber()) {
        // pthread_join would block the other fibers of this thread.
        blitz_task *join;
        OK(blitz_spawn_blocking(NULL, join_thread, worker, &join));
        OK(blitz_task_join(join, BLITZ_NEVER, &result));
    } else {
        result = join_thread(worker);
    }
    return result;
}

struct test {
    const char *name;
    void (*function)(void);
};

// Runs each test with threads, with fibers, and with both; with threads alone if the variable
// BLITZ_TEST_THREADS is set.
static inline int run_tests(const struct test *tests, size_t count) {
    static const char *const names[] = {"threads", "fibers", "both"};
    int last = getenv("BLITZ_TEST_THREADS") ? THREADS : MIXED;
    unsigned passed = 0;
    for (size_t i = 0; i < count; i++) {
        for (int f = THREADS; f <= last; f++) {
            flavour = (enum flavour)f;
            printf("test %s (%s) ... ", tests[i].name, names[f]);
            fflush(stdout);
            tests[i].function();
            printf("ok\n");
            passed++;
        }
    }
    printf("test result: ok. %u passed; 0 failed; 0 ignored\n", passed);
    return 0;
}

#define RUN_TESTS(tests) run_tests(tests, sizeof(tests) / sizeof(tests)[0])

#endif
