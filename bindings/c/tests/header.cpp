// The header compiles as C++, and its functions have C linkage.
#include <blitz.h>

static blitz_mutex mutex = BLITZ_MUTEX_INIT;
static blitz_semaphore semaphore = BLITZ_SEMAPHORE_INIT(1);
static blitz_event event = BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO);

int main() {
    if (blitz_check_abi(BLITZ_ABI_VERSION) != BLITZ_OK) return 1;
    if (blitz_mutex_lock(&mutex) != BLITZ_OK) return 1;
    if (blitz_mutex_unlock(&mutex) != BLITZ_OK) return 1;
    if (blitz_semaphore_acquire(&semaphore, 1) != BLITZ_OK) return 1;
    return blitz_event_try_wait(&event) == BLITZ_EAGAIN ? 0 : 1;
}
