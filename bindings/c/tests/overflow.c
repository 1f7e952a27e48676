// A fiber whose function has a large local array and no stack probes ends the process. The program runs itself
// again as the process that ends.
#include "check.h"

#include <sys/wait.h>

static void *array_of_320_kib(void *argument) {
    (void)argument;
    volatile char local = 0;
    // The first access of a function without probes to such an array.
    volatile char *end = (volatile char *)((uintptr_t)&local - 320 * 1024);
    *end = 1;
    return NULL;
}

static const char *program;

static void a_large_array_does_not_reach_the_stack_of_another_fiber(void) {
    char command[4096], output[4096];
    snprintf(command, sizeof command, "'%s' child 2>&1", program);
    FILE *child = popen(command, "r");
    CHECK(child != NULL);
    size_t length = fread(output, 1, sizeof output - 1, child);
    output[length] = 0;
    int status = pclose(child);
    if (!strstr(output, "fiber 'array' has overflowed its stack of ")) {
        fprintf(stderr, "%s\n", output);
        abort();
    }
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + SIGABRT);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        blitz_fiber_settings settings = {.size = sizeof(blitz_fiber_settings), .name = "array"};
        blitz_task *task;
        OK(blitz_spawn(NULL, &settings, array_of_320_kib, NULL, &task));
        OK(blitz_task_join(task, BLITZ_NEVER, NULL));
        return 0;
    }
    program = argv[0];
    static const struct test tests[] = {
        {"a_large_array_does_not_reach_the_stack_of_another_fiber",
         a_large_array_does_not_reach_the_stack_of_another_fiber},
    };
    return RUN_TESTS(tests);
}
