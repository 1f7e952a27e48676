// Channels of all kinds, and selection.
#include "check.h"

enum { VALUES = 3000 };

struct ends {
    blitz_sender *sender;
    blitz_receiver *receiver;
};

struct record {
    uint64_t number;
    char text[40];
};

static void *send_numbers(void *argument) {
    for (uint64_t i = 1; i <= VALUES; i++) OK(blitz_send(argument, &i));
    blitz_sender_free(argument);
    return NULL;
}

static void *add_numbers(void *argument) {
    uint64_t sum = 0, value;
    int result;
    while ((result = blitz_recv(argument, &value)) == BLITZ_OK) sum += value;
    EXPECT(BLITZ_ECLOSED, result);
    blitz_receiver_free(argument);
    return (void *)(uintptr_t)sum;
}

static void numbers_arrive(struct ends ends, int senders, int receivers) {
    struct worker workers[8];
    int count = 0;
    for (int i = 1; i < senders; i++) {
        blitz_sender *clone;
        OK(blitz_sender_clone(ends.sender, &clone));
        start(&workers[count++], send_numbers, clone);
    }
    start(&workers[count++], send_numbers, ends.sender);
    for (int i = 1; i < receivers; i++) {
        blitz_receiver *clone;
        OK(blitz_receiver_clone(ends.receiver, &clone));
        start(&workers[count++], add_numbers, clone);
    }
    start(&workers[count++], add_numbers, ends.receiver);
    uint64_t sum = 0;
    for (int i = 0; i < count; i++) sum += (uintptr_t)finish(&workers[i]);
    CHECK(sum == (uint64_t)senders * VALUES * (VALUES + 1) / 2);
}

static void mpsc(void) {
    struct ends ends;
    OK(blitz_mpsc_new(sizeof(uint64_t), 16, &ends.sender, &ends.receiver));
    numbers_arrive(ends, 3, 1);
    OK(blitz_mpsc_new(sizeof(uint64_t), BLITZ_UNBOUNDED, &ends.sender, &ends.receiver));
    numbers_arrive(ends, 3, 1);
}

static void mpmc(void) {
    static const size_t capacities[] = {0, 1, 16, BLITZ_UNBOUNDED};
    for (int i = 0; i < 4; i++) {
        struct ends ends;
        OK(blitz_mpmc_new(sizeof(uint64_t), capacities[i], &ends.sender, &ends.receiver));
        numbers_arrive(ends, 3, 3);
    }
}

// Elements of every size class arrive as they were sent.
static void sizes(void) {
    static const size_t all[] = {0, 1, 7, 8, 9, 16, 17, 32, 33, 64, 65, 100000};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct ends ends;
        size_t size = all[i];
        unsigned char *sent = malloc(size + 1), *received = malloc(size + 1);
        for (size_t k = 0; k <= size; k++) sent[k] = (unsigned char)(k * 31 + i);
        memset(received, 0xEE, size + 1);
        OK(blitz_mpmc_new(size, 2, &ends.sender, &ends.receiver));
        OK(blitz_send(ends.sender, sent));
        OK(blitz_recv(ends.receiver, received));
        CHECK(memcmp(sent, received, size) == 0 && received[size] == 0xEE);
        blitz_sender_free(ends.sender);
        blitz_receiver_free(ends.receiver);
        free(sent);
        free(received);
    }
}

static void *full_and_empty_body(void *argument) {
    (void)argument;
    struct ends ends;
    uint64_t value = 1;
    OK(blitz_mpsc_new(sizeof value, 2, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EEMPTY, blitz_try_recv(ends.receiver, &value));
    EXPECT(BLITZ_ETIMEDOUT, blitz_recv_until(ends.receiver, &value, after_ms(5)));
    OK(blitz_try_send(ends.sender, &value));
    OK(blitz_try_send(ends.sender, &value));
    EXPECT(BLITZ_EFULL, blitz_try_send(ends.sender, &value));
    EXPECT(BLITZ_ETIMEDOUT, blitz_send_until(ends.sender, &value, after_ms(5)));
    CHECK(blitz_receiver_len(ends.receiver) == 2);
    OK(blitz_receiver_close(ends.receiver));
    EXPECT(BLITZ_ECLOSED, blitz_send(ends.sender, &value));
    CHECK(blitz_sender_is_closed(ends.sender));
    OK(blitz_recv(ends.receiver, &value));
    OK(blitz_recv(ends.receiver, &value));
    EXPECT(BLITZ_ECLOSED, blitz_recv(ends.receiver, &value));
    OK(blitz_sender_wait_closed(ends.sender, BLITZ_NEVER));
    blitz_receiver *clone;
    EXPECT(BLITZ_EINVAL, blitz_receiver_clone(ends.receiver, &clone));
    EXPECT(BLITZ_EINVAL, blitz_sender_close(ends.sender));
    blitz_sender_free(ends.sender);
    blitz_receiver_free(ends.receiver);
    return NULL;
}

static void full_and_empty(void) {
    struct worker worker;
    start(&worker, full_and_empty_body, NULL);
    finish(&worker);
}

static void *recv_record(void *argument) {
    struct record record;
    OK(blitz_recv(argument, &record));
    CHECK(record.number == 9 && strcmp(record.text, "nine") == 0);
    EXPECT(BLITZ_ECLOSED, blitz_recv(argument, &record));
    return NULL;
}

static void oneshot(void) {
    struct ends ends;
    struct record record = {9, "nine"};
    struct worker worker;
    OK(blitz_oneshot_new(sizeof record, &ends.sender, &ends.receiver));
    start(&worker, recv_record, ends.receiver);
    OK(blitz_send(ends.sender, &record));
    EXPECT(BLITZ_ECLOSED, blitz_send(ends.sender, &record));
    finish(&worker);
    blitz_sender_free(ends.sender);
    blitz_receiver_free(ends.receiver);

    OK(blitz_oneshot_new(sizeof record, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EEMPTY, blitz_try_recv(ends.receiver, &record));
    blitz_sender_free(ends.sender);
    EXPECT(BLITZ_ECLOSED, blitz_try_recv(ends.receiver, &record));
    blitz_receiver_free(ends.receiver);
}

// Two calls at once for an end that is for one: each of them gets an element, or `BLITZ_EBUSY`.
static void *share_receiver(void *argument) {
    uint64_t sum = 0, value;
    int result;
    while ((result = blitz_try_recv(argument, &value)) != BLITZ_ECLOSED) {
        CHECK(result == BLITZ_OK || result == BLITZ_EEMPTY || result == BLITZ_EBUSY);
        if (result == BLITZ_OK) sum += value;
        else blitz_yield();
    }
    return (void *)(uintptr_t)sum;
}

static void *recv_unless_busy(void *argument) {
    uint64_t value;
    int result;
    while ((result = blitz_recv(argument, &value)) == BLITZ_EBUSY) blitz_yield();
    EXPECT(BLITZ_OK, result);
    return (void *)(uintptr_t)value;
}

static void one_call_at_a_time(void) {
    struct ends ends;
    struct worker workers[2];
    OK(blitz_mpsc_new(sizeof(uint64_t), 16, &ends.sender, &ends.receiver));
    for (int i = 0; i < 2; i++) start(&workers[i], share_receiver, ends.receiver);
    send_numbers(ends.sender);
    uint64_t sum = 0;
    for (int i = 0; i < 2; i++) sum += (uintptr_t)finish(&workers[i]);
    CHECK(sum == (uint64_t)VALUES * (VALUES + 1) / 2);
    blitz_receiver_free(ends.receiver);

    uint64_t value = 7;
    OK(blitz_oneshot_new(sizeof value, &ends.sender, &ends.receiver));
    start(&workers[0], recv_unless_busy, ends.receiver);
    int result;
    while ((result = blitz_try_recv(ends.receiver, &value)) == BLITZ_EEMPTY) blitz_yield();
    EXPECT(BLITZ_EBUSY, result);
    OK(blitz_send(ends.sender, &value));
    CHECK((uintptr_t)finish(&workers[0]) == 7);
    blitz_sender_free(ends.sender);
    blitz_receiver_free(ends.receiver);
}

static void *recv_hundred(void *argument) {
    uint64_t value;
    for (uint64_t i = 0; i < 100; i++) {
        OK(blitz_recv(argument, &value));
        CHECK(value == i);
    }
    EXPECT(BLITZ_ECLOSED, blitz_recv(argument, &value));
    blitz_receiver_free(argument);
    return NULL;
}

static void broadcast(void) {
    struct ends ends;
    blitz_receiver *second, *third;
    struct worker workers[2];
    OK(blitz_broadcast_new(sizeof(uint64_t), 128, &ends.sender, &ends.receiver));
    OK(blitz_receiver_clone(ends.receiver, &second));
    start(&workers[0], recv_hundred, ends.receiver);
    start(&workers[1], recv_hundred, second);
    for (uint64_t i = 0; i < 100; i++) OK(blitz_send(ends.sender, &i));
    OK(blitz_sender_subscribe(ends.sender, &third));
    uint64_t value = 5;
    EXPECT(BLITZ_EEMPTY, blitz_try_recv(third, &value));
    CHECK(value == 5);
    blitz_sender_free(ends.sender);
    EXPECT(BLITZ_ECLOSED, blitz_recv(third, &value));
    blitz_receiver_free(third);
    finish(&workers[0]);
    finish(&workers[1]);

    OK(blitz_broadcast_new(sizeof(uint64_t), 2, &ends.sender, &ends.receiver));
    for (uint64_t i = 0; i < 5; i++) OK(blitz_send(ends.sender, &i));
    EXPECT(BLITZ_ELAGGED, blitz_recv(ends.receiver, &value));
    CHECK(strstr(blitz_last_error(), "3 elements") != NULL);
    OK(blitz_recv(ends.receiver, &value));
    CHECK(value == 3);
    blitz_receiver_free(ends.receiver);
    EXPECT(BLITZ_ECLOSED, blitz_send(ends.sender, &value));
    blitz_sender_free(ends.sender);
}

static void *watch_until_hundred(void *argument) {
    uint64_t value = 0, last = 0;
    while (value < 100) {
        OK(blitz_recv(argument, &value));
        CHECK(value > last);
        last = value;
    }
    return NULL;
}

static void watch(void) {
    struct ends ends;
    struct worker worker;
    uint64_t value = 0;
    OK(blitz_watch_new(sizeof value, &value, &ends.sender, &ends.receiver));
    start(&worker, watch_until_hundred, ends.receiver);
    for (value = 1; value <= 100; value++) OK(blitz_send(ends.sender, &value));
    finish(&worker);
    OK(blitz_receiver_latest(ends.receiver, &value));
    CHECK(value == 100);
    EXPECT(BLITZ_EEMPTY, blitz_try_recv(ends.receiver, &value));
    blitz_sender_free(ends.sender);
    EXPECT(BLITZ_ECLOSED, blitz_recv(ends.receiver, &value));
    OK(blitz_receiver_latest(ends.receiver, &value));
    blitz_receiver_free(ends.receiver);
}

struct choice {
    blitz_receiver *numbers, *stop;
};

static void *select_until_stop(void *argument) {
    struct choice *choice = argument;
    uint64_t number = 0, sum = 0;
    char stop = 0;
    for (;;) {
        blitz_case cases[2] = {
            {.receiver = choice->numbers, .value = &number},
            {.receiver = choice->stop, .value = &stop},
        };
        size_t index;
        OK(blitz_select(cases, 2, BLITZ_NEVER, &index));
        if (index == 1) {
            OK(cases[1].result);
            CHECK(stop == 's');
            // Elements sent before the stop can be received.
            while (blitz_try_recv(choice->numbers, &number) == BLITZ_OK) sum += number;
            return (void *)(uintptr_t)sum;
        }
        if (cases[0].result == BLITZ_ECLOSED) continue;
        OK(cases[0].result);
        sum += number;
    }
}

static void selection(void) {
    struct ends numbers, stop;
    struct worker worker;
    OK(blitz_mpsc_new(sizeof(uint64_t), 4, &numbers.sender, &numbers.receiver));
    OK(blitz_oneshot_new(1, &stop.sender, &stop.receiver));
    struct choice choice = {numbers.receiver, stop.receiver};
    start(&worker, select_until_stop, &choice);
    for (uint64_t i = 1; i <= 1000; i++) OK(blitz_send(numbers.sender, &i));
    OK(blitz_send(stop.sender, "s"));
    CHECK((uintptr_t)finish(&worker) == 500500);

    // A sender is a case too, and nothing is lost.
    uint64_t value = 8;
    blitz_case both[2] = {
        {.sender = numbers.sender, .value = &value},
        {.receiver = stop.receiver, .value = &value},
    };
    size_t index = 9;
    OK(blitz_try_select(both, 1, &index));
    CHECK(index == 0 && blitz_receiver_len(numbers.receiver) == 1);
    for (int i = 0; i < 3; i++) OK(blitz_try_send(numbers.sender, &value));
    EXPECT(BLITZ_EAGAIN, blitz_try_select(both, 1, &index));
    EXPECT(BLITZ_ETIMEDOUT, blitz_select(both, 1, after_ms(5), &index));
    CHECK(blitz_receiver_len(numbers.receiver) == 4);
    both[0].receiver = stop.receiver;
    EXPECT(BLITZ_EINVAL, blitz_select(both, 1, 0, &index));
    EXPECT(BLITZ_EINVAL, blitz_select(both, 0, 0, &index));
    EXPECT(BLITZ_EINVAL, blitz_select(NULL, 1, 0, &index));
    EXPECT(BLITZ_EINVAL, blitz_select(both, 1, 0, NULL));

    blitz_sender_free(numbers.sender);
    blitz_receiver_free(numbers.receiver);
    blitz_sender_free(stop.sender);
    blitz_receiver_free(stop.receiver);
}

static void bad_arguments(void) {
    struct ends ends;
    uint64_t value = 0;
    EXPECT(BLITZ_EINVAL, blitz_mpsc_new(8, 0, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_mpsc_new(8, (size_t)1 << 40, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_mpmc_new(SIZE_MAX, 1, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_mpmc_new(8, 1, NULL, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_broadcast_new(8, 0, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_watch_new(8, NULL, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_send(NULL, &value));
    EXPECT(BLITZ_EINVAL, blitz_recv(NULL, &value));
    OK(blitz_mpsc_new(8, 1, &ends.sender, &ends.receiver));
    EXPECT(BLITZ_EINVAL, blitz_send(ends.sender, NULL));
    EXPECT(BLITZ_EINVAL, blitz_recv(ends.receiver, NULL));
    EXPECT(BLITZ_EINVAL, blitz_receiver_latest(ends.receiver, &value));
    // The same end twice, which only one call may use.
    blitz_case twice[] = {{.receiver = ends.receiver, .value = &value},
                          {.receiver = ends.receiver, .value = &value}};
    size_t index;
    OK(blitz_try_select(twice, 2, &index));
    EXPECT(BLITZ_EBUSY, twice[index].result);
    blitz_sender_free(ends.sender);
    blitz_receiver_free(ends.receiver);
    blitz_sender_free(NULL);
    blitz_receiver_free(NULL);
    CHECK(blitz_sender_is_closed(NULL) && blitz_receiver_len(NULL) == 0);
}

// A receiver that has not seen the last element gets it, also when no sender is left.
static void a_watch_gives_its_last_element_after_the_senders(void) {
    blitz_sender *sender;
    blitz_receiver *receiver;
    int value = 0;
    OK(blitz_watch_new(sizeof value, &value, &sender, &receiver));
    OK(blitz_send(sender, &(int){1}));
    blitz_sender_free(sender);
    CHECK(blitz_receiver_len(receiver) == 1);
    OK(blitz_try_recv(receiver, &value));
    CHECK(value == 1 && blitz_receiver_len(receiver) == 0);
    EXPECT(BLITZ_ECLOSED, blitz_try_recv(receiver, &value));
    EXPECT(BLITZ_ECLOSED, blitz_recv(receiver, &value));
    blitz_receiver_free(receiver);
}

int main(void) {
    static const struct test tests[] = {
        {"a_watch_gives_its_last_element_after_the_senders",
         a_watch_gives_its_last_element_after_the_senders},
        {"mpsc", mpsc},         {"mpmc", mpmc},
        {"sizes", sizes},       {"full_and_empty", full_and_empty},
        {"oneshot", oneshot},   {"broadcast", broadcast},
        {"watch", watch},       {"selection", selection},
        {"one_call_at_a_time", one_call_at_a_time},
        {"bad_arguments", bad_arguments},
    };
    return RUN_TESTS(tests);
}
