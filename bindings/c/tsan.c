/* Functions that the thread sanitizer of GCC 12 lacks, and Rust's compiler calls. They call those that the
   sanitizer watches. A sanitizer that has them comes first, as these are weak. */

#include <stddef.h>
#include <string.h>

#define WEAK __attribute__((weak))

WEAK void *__tsan_memcpy(void *to, const void *from, size_t count) { return memcpy(to, from, count); }
WEAK void *__tsan_memmove(void *to, const void *from, size_t count) { return memmove(to, from, count); }
WEAK void *__tsan_memset(void *at, int byte, size_t count) { return memset(at, byte, count); }
