// A loop on all processors: counts primes with a sieve in segments, without a lock.
#include <blitz.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 2000000, SEGMENT = 1 << 15, ROOT = 1415 };

struct sieve {
    int primes[ROOT];
    int count;
    atomic_size_t found;
};

static void count_segments(void *argument, size_t begin, size_t end) {
    struct sieve *sieve = argument;
    static _Thread_local char composite[SEGMENT];
    size_t found = 0;
    for (size_t segment = begin; segment < end; segment++) {
        size_t low = segment * SEGMENT, high = low + SEGMENT;
        if (high > LIMIT) high = LIMIT;
        memset(composite, 0, sizeof composite);
        for (int i = 0; i < sieve->count; i++) {
            size_t p = (size_t)sieve->primes[i], first = p * p;
            if (first < low) first = (low + p - 1) / p * p;
            for (size_t n = first; n < high; n += p) composite[n - low] = 1;
        }
        for (size_t n = low < 2 ? 2 : low; n < high; n++) found += !composite[n - low];
    }
    atomic_fetch_add(&sieve->found, found);
}

int main(void) {
    static struct sieve sieve;
    for (int n = 2; n < ROOT; n++) {
        int is_prime = 1;
        for (int d = 2; d * d <= n && is_prime; d++) is_prime = n % d != 0;
        if (is_prime) sieve.primes[sieve.count++] = n;
    }
    int result = blitz_parallel_for(NULL, 0, (LIMIT + SEGMENT - 1) / SEGMENT, 1, count_segments, &sieve);
    if (result != BLITZ_OK) {
        fprintf(stderr, "%s (%s)\n", blitz_strerror(result), blitz_last_error());
        return 1;
    }
    printf("%zu primes below %d\n", atomic_load(&sieve.found), LIMIT);
    return atomic_load(&sieve.found) == 148933 ? 0 : 1;
}
