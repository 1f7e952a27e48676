// Fork-join, and pipelines of callbacks.
#include "check.h"

#include <stdatomic.h>

enum { N = 100000 };

static atomic_uchar touched[N];

static void touch(void *argument, size_t begin, size_t end) {
    CHECK(begin < end && end <= N);
    for (size_t i = begin; i < end; i++) atomic_fetch_add(&((atomic_uchar *)argument)[i], 1);
}

static void *loop_body(void *argument) {
    static const size_t grains[] = {0, 1, 7, 1000, N, SIZE_MAX};
    blitz_pool *pool = argument;
    for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
        memset(touched, 0, sizeof touched);
        OK(blitz_parallel_for(pool, 10, N, grains[g], touch, touched));
        for (size_t i = 0; i < N; i++) CHECK(atomic_load(&touched[i]) == (i >= 10));
    }
    OK(blitz_parallel_for(pool, 5, 5, 0, touch, touched));
    EXPECT(BLITZ_EINVAL, blitz_parallel_for(pool, 5, 4, 0, touch, touched));
    EXPECT(BLITZ_EINVAL, blitz_parallel_for(pool, 0, 4, 0, NULL, touched));
    return NULL;
}

static void loops_touch_all(void) {
    struct worker worker;
    start(&worker, loop_body, NULL);
    finish(&worker);
    blitz_pool *pool;
    EXPECT(BLITZ_EINVAL, blitz_pool_new(5000, &pool));
    OK(blitz_pool_new(3, &pool));
    CHECK(blitz_pool_threads(pool) == 3 && blitz_pool_threads(NULL) > 0);
    start(&worker, loop_body, pool);
    finish(&worker);
    blitz_pool_free(pool);
}

struct fibonacci {
    int n;
    long result;
};

static void fibonacci(void *argument) {
    struct fibonacci *me = argument;
    if (me->n < 2) {
        me->result = me->n;
        return;
    }
    struct fibonacci one = {me->n - 1, 0}, two = {me->n - 2, 0};
    OK(blitz_join(NULL, fibonacci, &one, fibonacci, &two));
    me->result = one.result + two.result;
}

static void *join_body(void *argument) {
    (void)argument;
    struct fibonacci top = {18, 0};
    fibonacci(&top);
    CHECK(top.result == 2584);
    EXPECT(BLITZ_EINVAL, blitz_join(NULL, NULL, NULL, fibonacci, &top));
    return NULL;
}

static void joins(void) {
    struct worker worker;
    start(&worker, join_body, NULL);
    finish(&worker);
}

static void count_one(void *argument) { atomic_fetch_add((atomic_int *)argument, 1); }

static void spawn_hundred(blitz_scope *scope, void *argument) {
    for (int i = 0; i < 100; i++) OK(blitz_scope_spawn(scope, count_one, argument));
    EXPECT(BLITZ_EINVAL, blitz_scope_spawn(scope, NULL, argument));
}

static void *scope_body(void *argument) {
    (void)argument;
    atomic_int count = 0;
    OK(blitz_scope_run(NULL, spawn_hundred, &count));
    CHECK(atomic_load(&count) == 100);
    EXPECT(BLITZ_EINVAL, blitz_scope_spawn(NULL, count_one, &count));
    EXPECT(BLITZ_EINVAL, blitz_scope_run(NULL, NULL, &count));
    return NULL;
}

static void scopes_wait(void) {
    struct worker worker;
    start(&worker, scope_body, NULL);
    finish(&worker);
}

// Items are numbers on the heap, which must all be freed.
static atomic_int live;

static void *new_item(long value) {
    long *item = malloc(sizeof *item);
    *item = value;
    atomic_fetch_add(&live, 1);
    return item;
}

static void free_item(void *item) {
    atomic_fetch_sub(&live, 1);
    free(item);
}

struct progress {
    long next, end, expected, sum;
    long fail_at;
};

static int source(void *argument, void **item) {
    struct progress *progress = argument;
    if (progress->next == progress->end) return 0;
    *item = new_item(progress->next++);
    return 1;
}

static int square(void *argument, void **item) {
    struct progress *progress = argument;
    long value = *(long *)*item;
    if (value == progress->fail_at) return -77;
    free_item(*item);
    *item = new_item(value * value);
    return 0;
}

static int only_even(void *argument, void **item) {
    (void)argument;
    if (*(long *)*item % 2 == 0) return 0;
    free_item(*item);
    *item = NULL;
    return 0;
}

static int sink(void *argument, void *item) {
    struct progress *progress = argument;
    CHECK(*(long *)item == progress->expected * progress->expected);
    progress->expected += 2;
    progress->sum += *(long *)item;
    free_item(item);
    return 0;
}

static int endless(void *argument, void **item) {
    struct progress *progress = argument;
    *item = new_item(progress->next++);
    return 1;
}

static int cancelling_sink(void *argument, void *item) {
    free_item(item);
    OK(blitz_pipeline_cancel(argument));
    return 0;
}

static void *pipeline_body(void *argument) {
    (void)argument;
    for (size_t workers = 0; workers < 4; workers++) {
        struct progress progress = {.end = 1000, .fail_at = -1};
        blitz_stage stages[] = {{square, &progress}, {only_even, NULL}};
        blitz_pipeline pipeline = {
            .size = sizeof(blitz_pipeline),
            .source = source, .source_argument = &progress,
            .stages = stages, .stage_count = 2,
            .sink = sink, .sink_argument = &progress,
            .free_item = free_item, .workers = workers, .capacity = workers * 2,
        };
        blitz_pipeline_result result;
        OK(blitz_pipeline_run(&pipeline, &result));
        CHECK(progress.expected == 1000 && progress.sum == 166167000);
        CHECK(atomic_load(&live) == 0);

        progress = (struct progress){.end = 1000, .fail_at = 501};
        EXPECT(BLITZ_ECALLBACK, blitz_pipeline_run(&pipeline, &result));
        CHECK(result.failed_item == 501 && result.callback_result == -77);
        CHECK(progress.expected == 502);
        CHECK(atomic_load(&live) == 0);

        struct progress numbers = {0};
        blitz_pipeline_control *control;
        OK(blitz_pipeline_control_new(&control));
        blitz_pipeline cancelled = {
            .size = sizeof(blitz_pipeline),
            .source = endless, .source_argument = &numbers,
            .sink = cancelling_sink, .sink_argument = control,
            .free_item = free_item, .workers = workers, .control = control,
        };
        EXPECT(BLITZ_ECANCELED, blitz_pipeline_run(&cancelled, &result));
        CHECK(result.written >= 1);
        CHECK(atomic_load(&live) == 0);
        blitz_pipeline_control_free(control);
        cancelled.capacity = SIZE_MAX;
        EXPECT(BLITZ_EINVAL, blitz_pipeline_run(&cancelled, NULL));
        cancelled.capacity = 0;
        cancelled.sink = NULL;
        EXPECT(BLITZ_EINVAL, blitz_pipeline_run(&cancelled, NULL));
    }
    EXPECT(BLITZ_EINVAL, blitz_pipeline_run(NULL, NULL));
    return NULL;
}

static void pipelines_keep_order(void) {
    struct worker worker;
    start(&worker, pipeline_body, NULL);
    finish(&worker);
}

int main(void) {
    static const struct test tests[] = {
        {"loops_touch_all", loops_touch_all},
        {"joins", joins},
        {"scopes_wait", scopes_wait},
        {"pipelines_keep_order", pipelines_keep_order},
    };
    return RUN_TESTS(tests);
}
