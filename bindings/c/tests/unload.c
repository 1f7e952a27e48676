// The library is loaded, closed and loaded again, with threads of it that run. The argument is its path.
#include <blitz.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            abort();                                                         \
        }                                                                    \
    } while (0)

struct functions {
    void *library;
    __typeof__(&blitz_check_abi) check_abi;
    __typeof__(&blitz_spawn) spawn;
    __typeof__(&blitz_task_join) task_join;
    __typeof__(&blitz_semaphore_acquire) acquire;
    __typeof__(&blitz_semaphore_release) release;
};

static void load(struct functions *functions, const char *path) {
    functions->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(functions->library != NULL);
    *(void **)&functions->check_abi = dlsym(functions->library, "blitz_check_abi");
    *(void **)&functions->spawn = dlsym(functions->library, "blitz_spawn");
    *(void **)&functions->task_join = dlsym(functions->library, "blitz_task_join");
    *(void **)&functions->acquire = dlsym(functions->library, "blitz_semaphore_acquire");
    *(void **)&functions->release = dlsym(functions->library, "blitz_semaphore_release");
    CHECK(functions->check_abi && functions->spawn && functions->task_join && functions->acquire && functions->release);
    CHECK(functions->check_abi(BLITZ_ABI_VERSION) == BLITZ_OK);
}

static struct functions functions;
static blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(0);

static void *acquire(void *argument) {
    CHECK(functions.acquire(&semaphore, 1) == BLITZ_OK);
    return argument;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    for (int i = 0; i < 3; i++) {
        blitz_task *task;
        void *result;
        load(&functions, argv[1]);
        CHECK(functions.spawn(NULL, NULL, acquire, argv, &task) == BLITZ_OK);
        // The fiber waits, or will.
        CHECK(dlclose(functions.library) == 0);
        load(&functions, argv[1]);
        CHECK(functions.release(&semaphore, 1) == BLITZ_OK);
        CHECK(functions.task_join(task, BLITZ_NEVER, &result) == BLITZ_OK);
        CHECK(result == argv);
        CHECK(dlclose(functions.library) == 0);
    }
    puts("loaded, closed and loaded again");
    return 0;
}
