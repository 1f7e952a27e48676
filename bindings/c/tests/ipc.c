// Messages between processes, and the death of one.
#include "check.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[64];

static void new_name(void) {
    static unsigned number;
    snprintf(name, sizeof name, "c-test-%d-%u", (int)getpid(), number++);
}

static blitz_ipc_settings settings_of(uint32_t kind) {
    blitz_ipc_settings settings = {.size = sizeof(blitz_ipc_settings), .kind = kind, .capacity = 8, .max_len = 100};
    return settings;
}

static void *receive_hundred(void *argument) {
    for (int i = 0; i < 100; i++) {
        int value;
        size_t count;
        OK(blitz_ipc_recv(argument, &value, sizeof value, &count));
        CHECK(count == sizeof value && value == i);
    }
    return NULL;
}

static void *send_hundred(void *argument) {
    for (int i = 0; i < 100; i++) OK(blitz_ipc_send(argument, &i, sizeof i));
    return NULL;
}

static void every_receiver_gets_all(void) {
    for (uint32_t kind = BLITZ_IPC_ROUTE; kind <= BLITZ_IPC_CHANNEL; kind++) {
        blitz_ipc_settings settings = settings_of(kind);
        blitz_ipc_receiver *receivers[2];
        blitz_ipc_sender *sender;
        struct worker workers[3];
        new_name();
        for (int i = 0; i < 2; i++) OK(blitz_ipc_receiver_open(name, &settings, &receivers[i]));
        OK(blitz_ipc_sender_open(name, &settings, &sender));
        CHECK(blitz_ipc_max_len(sender) >= 100);
        for (int i = 0; i < 2; i++) start(&workers[i], receive_hundred, receivers[i]);
        start(&workers[2], send_hundred, sender);
        for (int i = 0; i < 3; i++) finish(&workers[i]);
        blitz_ipc_sender_free(sender);
        char byte;
        size_t count;
        EXPECT(BLITZ_ECLOSED, blitz_ipc_recv(receivers[0], &byte, 1, &count));
        for (int i = 0; i < 2; i++) blitz_ipc_receiver_free(receivers[i]);
    }
}

static atomic_int taken;

static void *receive_until_closed(void *argument) {
    int value, result;
    size_t count;
    while ((result = blitz_ipc_recv(argument, &value, sizeof value, &count)) == BLITZ_OK)
        atomic_fetch_add(&taken, value);
    EXPECT(BLITZ_ECLOSED, result);
    return NULL;
}

static void a_queue_hands_each_to_one(void) {
    blitz_ipc_settings settings = settings_of(BLITZ_IPC_QUEUE);
    blitz_ipc_receiver *receivers[2];
    blitz_ipc_sender *senders[2];
    struct worker workers[4];
    new_name();
    atomic_store(&taken, 0);
    for (int i = 0; i < 2; i++) OK(blitz_ipc_receiver_open(name, &settings, &receivers[i]));
    for (int i = 0; i < 2; i++) OK(blitz_ipc_sender_open(name, &settings, &senders[i]));
    for (int i = 0; i < 2; i++) start(&workers[i], send_hundred, senders[i]);
    for (int i = 0; i < 2; i++) start(&workers[2 + i], receive_until_closed, receivers[i]);
    for (int i = 0; i < 2; i++) finish(&workers[i]);
    for (int i = 0; i < 2; i++) blitz_ipc_sender_free(senders[i]);
    for (int i = 2; i < 4; i++) finish(&workers[i]);
    CHECK(atomic_load(&taken) == 2 * 4950);
    for (int i = 0; i < 2; i++) blitz_ipc_receiver_free(receivers[i]);
}

static void *wait_until_drained(void *argument) {
    OK(blitz_ipc_drained(argument, after_ms(60000)));
    return NULL;
}

// A worker that joins late takes what is left; the sender waits until nothing is.
static void a_queue_ends_for_late_receivers(void) {
    blitz_ipc_settings settings = settings_of(BLITZ_IPC_QUEUE);
    blitz_ipc_receiver *early, *late;
    blitz_ipc_sender *sender;
    struct worker worker;
    int value = 7;
    size_t count;
    new_name();
    OK(blitz_ipc_sender_open(name, &settings, &sender));
    OK(blitz_ipc_drained(sender, BLITZ_NEVER));
    OK(blitz_ipc_send(sender, &value, sizeof value));
    EXPECT(BLITZ_ETIMEDOUT, blitz_ipc_drained(sender, 0));
    start(&worker, wait_until_drained, sender);
    OK(blitz_ipc_receiver_open(name, &settings, &early));
    OK(blitz_ipc_recv(early, &value, sizeof value, &count));
    finish(&worker);
    OK(blitz_ipc_send(sender, &value, sizeof value));
    blitz_ipc_sender_free(sender);
    OK(blitz_ipc_receiver_open(name, &settings, &late));
    OK(blitz_ipc_recv(late, &value, sizeof value, &count));
    EXPECT(BLITZ_ECLOSED, blitz_ipc_recv(late, &value, sizeof value, &count));
    EXPECT(BLITZ_ECLOSED, blitz_ipc_recv(early, &value, sizeof value, &count));
    blitz_ipc_receiver_free(early);
    blitz_ipc_receiver_free(late);
    settings = settings_of(BLITZ_IPC_ROUTE);
    new_name();
    OK(blitz_ipc_sender_open(name, &settings, &sender));
    EXPECT(BLITZ_EINVAL, blitz_ipc_drained(sender, 0));
    blitz_ipc_sender_free(sender);
}

static void *watch_slowly(void *argument) {
    int value;
    size_t count;
    // The oldest of the hundred messages are overwritten.
    EXPECT(BLITZ_ELAGGED, blitz_ipc_recv(argument, &value, sizeof value, &count));
    OK(blitz_ipc_recv(argument, &value, sizeof value, &count));
    CHECK(value > 0);
    while (value < 99) {
        int before = value;
        OK(blitz_ipc_recv_until(argument, &value, sizeof value, after_ms(60000), &count));
        CHECK(value == before + 1);
    }
    EXPECT(BLITZ_EEMPTY, blitz_ipc_try_recv(argument, &value, sizeof value, &count));
    return NULL;
}

// No sender waits for it.
static void an_observer_lags(void) {
    blitz_ipc_settings settings = settings_of(BLITZ_IPC_ROUTE);
    blitz_ipc_receiver *observer;
    blitz_ipc_sender *sender;
    struct worker workers[2];
    new_name();
    OK(blitz_ipc_sender_open(name, &settings, &sender));
    OK(blitz_ipc_observer_open(name, &settings, &observer));
    start(&workers[0], send_hundred, sender);
    finish(&workers[0]);
    start(&workers[1], watch_slowly, observer);
    finish(&workers[1]);
    blitz_ipc_receiver_free(observer);
    settings = settings_of(BLITZ_IPC_QUEUE);
    new_name();
    EXPECT(BLITZ_EINVAL, blitz_ipc_observer_open(name, &settings, &observer));
    blitz_ipc_sender_free(sender);
}

static void participants_are_counted(void) {
    for (uint32_t kind = BLITZ_IPC_ROUTE; kind <= BLITZ_IPC_QUEUE; kind++) {
        blitz_ipc_settings settings = settings_of(kind);
        blitz_ipc_receiver *receivers[3];
        blitz_ipc_sender *sender;
        size_t senders = 9, count = 9;
        new_name();
        OK(blitz_ipc_participants(name, &settings, &senders, &count));
        CHECK(senders == 0 && count == 0);
        for (int i = 0; i < 3; i++) OK(blitz_ipc_receiver_open(name, &settings, &receivers[i]));
        OK(blitz_ipc_participants(name, &settings, &senders, &count));
        CHECK(senders == 0 && count == 3);
        OK(blitz_ipc_sender_open(name, &settings, &sender));
        blitz_ipc_receiver_free(receivers[0]);
        OK(blitz_ipc_participants(name, &settings, &senders, &count));
        CHECK(senders == 1 && count == 2);
        OK(blitz_ipc_participants(name, &settings, NULL, NULL));
        settings.kind = 7;
        EXPECT(BLITZ_EINVAL, blitz_ipc_participants(name, &settings, NULL, NULL));
        EXPECT(BLITZ_EINVAL, blitz_ipc_participants(NULL, &settings, NULL, NULL));
        EXPECT(BLITZ_EINVAL, blitz_ipc_participants(name, NULL, NULL, NULL));
        blitz_ipc_sender_free(sender);
        for (int i = 1; i < 3; i++) blitz_ipc_receiver_free(receivers[i]);
    }
}

static void *loan_body(void *argument) {
    (void)argument;
    blitz_ipc_settings settings = settings_of(BLITZ_IPC_QUEUE);
    blitz_ipc_sender *sender;
    blitz_ipc_receiver *receiver;
    void *room;
    const void *message;
    size_t len;
    new_name();
    OK(blitz_ipc_receiver_open(name, &settings, &receiver));
    OK(blitz_ipc_sender_open(name, &settings, &sender));
    OK(blitz_ipc_loan(sender, 50, BLITZ_NEVER, &room));
    EXPECT(BLITZ_EBUSY, blitz_ipc_send(sender, "x", 1));
    EXPECT(BLITZ_ESIZE, blitz_ipc_loan_send(sender, 51));
    memcpy(room, "in place", 8);
    OK(blitz_ipc_loan_send(sender, 8));
    EXPECT(BLITZ_EINVAL, blitz_ipc_loan_send(sender, 8));
    OK(blitz_ipc_loan(sender, 100, 0, &room));
    OK(blitz_ipc_loan_drop(sender));
    EXPECT(BLITZ_EINVAL, blitz_ipc_loan_drop(sender));
    OK(blitz_ipc_take(receiver, BLITZ_NEVER, &message, &len));
    CHECK(len == 8 && memcmp(message, "in place", 8) == 0);
    char byte;
    EXPECT(BLITZ_EBUSY, blitz_ipc_try_recv(receiver, &byte, 1, &len));
    OK(blitz_ipc_release(receiver));
    EXPECT(BLITZ_EINVAL, blitz_ipc_release(receiver));
    EXPECT(BLITZ_EEMPTY, blitz_ipc_try_recv(receiver, &byte, 1, &len));
    EXPECT(BLITZ_ETIMEDOUT, blitz_ipc_recv_until(receiver, &byte, 1, after_ms(5), &len));
    EXPECT(BLITZ_ETIMEDOUT, blitz_ipc_take(receiver, after_ms(5), &message, &len));

    char long_message[101] = {0};
    if (blitz_ipc_max_len(sender) < sizeof long_message)
        EXPECT(BLITZ_ESIZE, blitz_ipc_send(sender, long_message, sizeof long_message));
    OK(blitz_ipc_send(sender, "two", 3));
    EXPECT(BLITZ_ESIZE, blitz_ipc_recv(receiver, &byte, 1, &len));
    OK(blitz_ipc_recv(receiver, long_message, 100, &len));
    CHECK(len == 3);
    for (int i = 0; i < 8; i++) OK(blitz_ipc_try_send(sender, "x", 1));
    EXPECT(BLITZ_EFULL, blitz_ipc_try_send(sender, "x", 1));
    EXPECT(BLITZ_ETIMEDOUT, blitz_ipc_send_until(sender, "x", 1, after_ms(5)));
    // Freed with a loan, and with a message.
    OK(blitz_ipc_take(receiver, 0, &message, &len));
    blitz_ipc_receiver_free(receiver);
    blitz_ipc_sender_free(sender);
    return NULL;
}

static void loans_and_messages_in_place(void) {
    struct worker worker;
    start(&worker, loan_body, NULL);
    finish(&worker);
}

static void the_doorbell_rings(void) {
    blitz_ipc_settings settings = settings_of(BLITZ_IPC_ROUTE);
    blitz_ipc_sender *sender;
    blitz_ipc_receiver *receiver;
    struct worker worker;
    new_name();
    OK(blitz_ipc_receiver_open(name, &settings, &receiver));
    OK(blitz_ipc_sender_open(name, &settings, &sender));
    int fd;
    OK(blitz_ipc_receiver_doorbell(receiver, &fd));
    start(&worker, send_hundred, sender);
    for (int i = 0; i < 100; i++) {
        int value, result;
        size_t count;
        while ((result = blitz_ipc_try_recv_or_arm(receiver, &value, sizeof value, &count)) ==
               BLITZ_EEMPTY) {
            struct pollfd entry = {.fd = fd, .events = POLLIN};
            CHECK(poll(&entry, 1, -1) == 1);
        }
        OK(result);
        CHECK(value == i);
    }
    finish(&worker);
    OK(blitz_ipc_sender_doorbell(sender, &fd));
    for (int i = 0; i < 8; i++) OK(blitz_ipc_try_send_or_arm(sender, "x", 1));
    EXPECT(BLITZ_EFULL, blitz_ipc_try_send_or_arm(sender, "x", 1));
    char byte;
    size_t count;
    OK(blitz_ipc_recv(receiver, &byte, 1, &count));
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    CHECK(poll(&entry, 1, -1) == 1);
    OK(blitz_ipc_try_send_or_arm(sender, "x", 1));
    // A message that does not fit stays.
    EXPECT(BLITZ_ESIZE, blitz_ipc_try_recv_or_arm(receiver, NULL, 0, &count));
    OK(blitz_ipc_try_recv_or_arm(receiver, &byte, 1, &count));
    CHECK(count == 1 && byte == 'x');
    blitz_ipc_sender_free(sender);
    blitz_ipc_receiver_free(receiver);
}

static void bad_settings(void) {
    blitz_ipc_settings settings = settings_of(9);
    blitz_ipc_sender *sender, *other;
    new_name();
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open(name, &settings, &sender));
    settings = settings_of(BLITZ_IPC_ROUTE);
    settings.when_full = 9;
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open(name, &settings, &sender));
    settings.when_full = 0;
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open("a/b", &settings, &sender));
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open(NULL, &settings, &sender));
    EXPECT(BLITZ_EINVAL, blitz_ipc_sender_open(name, NULL, &sender));
    settings.must_exist = true;
    EXPECT(-2, blitz_ipc_sender_open(name, &settings, &sender));
    settings.must_exist = false;
    OK(blitz_ipc_sender_open(name, &settings, &sender));
    EXPECT(BLITZ_EFULL, blitz_ipc_sender_open(name, &settings, &other));
    char process[64];
    snprintf(process, sizeof process, "has its sender already (process %d)", (int)getpid());
    CHECK(strstr(blitz_last_error(), process) != NULL);
    CHECK(strstr(blitz_last_error(), "BLITZ_IPC_CHANNEL") != NULL);
    settings.capacity = 64;
    EXPECT(BLITZ_EMISMATCH, blitz_ipc_sender_open(name, &settings, &other));
    CHECK(strstr(blitz_last_error(), "capacity") != NULL);
    blitz_ipc_sender_free(sender);
    blitz_ipc_sender_free(NULL);
    blitz_ipc_receiver_free(NULL);
    OK(blitz_ipc_clean(NULL));
}

// A killed sender does not keep its receiver waiting.
static void *wait_for_the_dead(void *argument) {
    int value, last = -1, result;
    size_t count;
    while ((result = blitz_ipc_recv(argument, &value, sizeof value, &count)) == BLITZ_OK) {
        CHECK(value == last + 1);
        last = value;
    }
    EXPECT(BLITZ_ECLOSED, result);
    CHECK(last >= 99);
    return NULL;
}

static void a_killed_process_is_noticed(void) {
    blitz_ipc_settings settings = settings_of(BLITZ_IPC_ROUTE);
    blitz_ipc_receiver *receiver;
    struct worker worker;
    int ready[2];
    new_name();
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        blitz_ipc_sender *sender;
        char byte = 0;
        if (read(ready[0], &byte, 1) != 1) _exit(1);
        if (blitz_ipc_sender_open(name, &settings, &sender) != BLITZ_OK) _exit(2);
        for (int i = 0;; i++) {
            if (blitz_ipc_send(sender, &i, sizeof i) != BLITZ_OK) _exit(3);
            if (i == 99) raise(SIGKILL);
        }
    }
    OK(blitz_ipc_receiver_open(name, &settings, &receiver));
    CHECK(write(ready[1], "g", 1) == 1);
    start(&worker, wait_for_the_dead, receiver);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    finish(&worker);
    blitz_ipc_receiver_free(receiver);
    close(ready[0]);
    close(ready[1]);
}

int main(void) {
    static const struct test tests[] = {
        {"every_receiver_gets_all", every_receiver_gets_all},
        {"a_queue_hands_each_to_one", a_queue_hands_each_to_one},
        {"a_queue_ends_for_late_receivers", a_queue_ends_for_late_receivers},
        {"an_observer_lags", an_observer_lags},
        {"participants_are_counted", participants_are_counted},
        {"loans_and_messages_in_place", loans_and_messages_in_place},
        {"the_doorbell_rings", the_doorbell_rings},
        {"bad_settings", bad_settings},
        {"a_killed_process_is_noticed", a_killed_process_is_noticed},
    };
    return RUN_TESTS(tests);
}
