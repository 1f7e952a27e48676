//! Futexes whose memory is mapped twice, and waits for several.

use blitz_io_sim::Faults;

use crate::support::{c, passes_twice};

#[test]
fn a_shared_word_is_the_same_one_in_each_mapping() {
    let compiled = c(r#"
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
static unsigned *here, *there;
static unsigned *mapping(int fd) { return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096); }
static void *other(void *x) {
    while (__atomic_load_n(&here[3], __ATOMIC_ACQUIRE) == 0)
        syscall(SYS_futex, &here[3], FUTEX_WAIT, 0, NULL);
    return x;
}
int main(void) {
    int fd = memfd_create("shared", 0);
    assert(ftruncate(fd, 12288) == 0);
    here = mapping(fd);
    there = mapping(fd);
    assert(here != there);
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    sched_yield();
    __atomic_store_n(&there[3], 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &there[3], FUTEX_WAKE, 1);
    pthread_join(t, NULL);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 40);
}

/// Waits for several words: until one is woken, until a time, and not at all.
const WAIT_FOR_ANY: &str = r#"
#include <stdint.h>
#include <sys/syscall.h>
struct word { uint64_t value; uint64_t address; uint32_t flags, reserved; };
static uint32_t words[3];
static volatile int woken;
static long wait_for(const struct timespec *until) {
    struct word list[3];
    for (int i = 0; i < 3; i++) list[i] = (struct word) { 0, (uintptr_t) &words[i], 2 | 128, 0 };
    return syscall(449, list, 3, 0, until, CLOCK_MONOTONIC);
}
static void *other(void *x) {
    long index = wait_for(NULL);
    assert(index == 1 || (index == -1 && errno == EAGAIN && words[1]));
    woken = 1;
    return x;
}
static void *wakes_nobody(void *x) {
    assert(syscall(SYS_futex, &words[2], 1 | 128, 1) == 0);
    return x;
}
int main(void) {
    assert(syscall(449, NULL, 0, 0, NULL, 0) == -1 && errno == EINVAL);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 100;
    assert(wait_for(&until) == -1 && errno == ETIMEDOUT);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert(now.tv_sec >= until.tv_sec);
    pthread_t t;
    pthread_create(&t, NULL, wakes_nobody, NULL);
    pthread_join(t, NULL);
    pthread_create(&t, NULL, other, NULL);
    sched_yield();
    __atomic_store_n(&words[1], 1, __ATOMIC_RELEASE);
    long one = syscall(SYS_futex, &words[1], 1 | 128, 1), two = syscall(SYS_futex, &words[2], 1 | 128, 1);
    assert(one <= 1 && two == 0);
    pthread_join(t, NULL);
    assert(woken);
    words[1] = 1;
    assert(wait_for(NULL) == -1 && errno == EAGAIN);
    return 0;
}"#;

#[test]
fn a_wait_for_several_words_ends_with_the_first() {
    let compiled = c(WAIT_FOR_ANY);
    passes_twice(&compiled.program, Faults::NONE, 60);
}
