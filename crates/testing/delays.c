// Delays at random: a library for LD_PRELOAD that stops a thread now and then before and after the
// functions of libc that enter the kernel, as a scheduler with little to give would. It shows tests
// that depend on which thread runs first, and waits that do. A thread that is stopped stays runnable:
// tests ask the kernel whether a thread sleeps.
//
// DELAYS_SEED chooses the places, DELAYS_ONE_IN how rare they are, and DELAYS_US the longest delay.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// Enters the kernel without libc, whose functions are the ones below. Returns -errno.
static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

static int64_t now_ns(void) {
    struct timespec time;
    kernel(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&time, 0, 0, 0, 0);
    return time.tv_sec * 1000000000l + time.tv_nsec;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

// The next number of the calling thread (xorshift64*).
static uint64_t random_number(void) {
    static _Atomic uint64_t threads;
    static __thread uint64_t state;
    const uint64_t odd = 0x9E3779B97F4A7C15;
    if (state == 0) {
        uint64_t seed = number_of("DELAYS_SEED", 1) + (uint64_t)kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
        state = (seed * odd + atomic_fetch_add(&threads, odd)) | 1;
    }
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1D;
}

// Leaves errno as it is.
static void delay(void) {
    static _Atomic uint64_t one_in, longest;
    if (one_in == 0) {
        longest = number_of("DELAYS_US", 3000) * 1000 + 1;
        one_in = number_of("DELAYS_ONE_IN", 30);
    }
    if ((random_number() >> 32) % one_in != 0) return;
    int64_t end = now_ns() + (int64_t)((random_number() >> 16) % longest);
    while (now_ns() < end) kernel(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

// delays(TYPE, FUNCTION, PARAMETERS, ARGUMENTS): the function, with a delay before it and after it.
#define delays(type, function, parameters, arguments)                      \
    type function parameters {                                             \
        static type(*real) parameters;                                     \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #function); \
        delay();                                                           \
        type result_ = real arguments;                                     \
        delay();                                                           \
        return result_;                                                    \
    }

delays(ssize_t, read, (int f, void *b, size_t n), (f, b, n))
delays(ssize_t, write, (int f, const void *b, size_t n), (f, b, n))
delays(ssize_t, readv, (int f, const struct iovec *v, int n), (f, v, n))
delays(ssize_t, writev, (int f, const struct iovec *v, int n), (f, v, n))
delays(ssize_t, recv, (int f, void *b, size_t n, int o), (f, b, n, o))
delays(ssize_t, send, (int f, const void *b, size_t n, int o), (f, b, n, o))
delays(ssize_t, recvmsg, (int f, struct msghdr *m, int o), (f, m, o))
delays(ssize_t, sendmsg, (int f, const struct msghdr *m, int o), (f, m, o))
delays(ssize_t, recvfrom, (int f, void *b, size_t n, int o, struct sockaddr *a, socklen_t *l), (f, b, n, o, a, l))
delays(ssize_t, sendto, (int f, const void *b, size_t n, int o, const struct sockaddr *a, socklen_t l), (f, b, n, o, a, l))
delays(int, connect, (int f, const struct sockaddr *a, socklen_t l), (f, a, l))
delays(int, accept4, (int f, struct sockaddr *a, socklen_t *l, int o), (f, a, l, o))
delays(int, epoll_ctl, (int e, int c, int f, struct epoll_event *v), (e, c, f, v))
delays(int, epoll_wait, (int e, struct epoll_event *v, int n, int t), (e, v, n, t))
delays(int, poll, (struct pollfd *f, nfds_t n, int t), (f, n, t))
delays(int, close, (int f), (f))
delays(int, sched_yield, (void), ())
delays(int, pthread_join, (pthread_t t, void **r), (t, r))

// A futex is called by this.
long syscall(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    long a = va_arg(arguments, long), b = va_arg(arguments, long), c = va_arg(arguments, long);
    long d = va_arg(arguments, long), e = va_arg(arguments, long), f = va_arg(arguments, long);
    va_end(arguments);
    delay();
    long result = kernel(number, a, b, c, d, e, f);
    delay();
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    return (int)syscall(SYS_clock_gettime, clock, time);
}

struct thread {
    void *(*function)(void *);
    void *argument;
};

static void *begin(void *argument) {
    struct thread thread = *(struct thread *)argument;
    free(argument);
    delay();
    return thread.function(thread.argument);
}

int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    struct thread *thread = malloc(sizeof *thread);
    if (!thread) return EAGAIN;
    *thread = (struct thread){function, argument};
    int result = real(id, attributes, begin, thread);
    if (result != 0) free(thread);
    delay();
    return result;
}
