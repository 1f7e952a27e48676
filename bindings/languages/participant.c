// A participant in a segment that programs in four languages share, in C. README.md has the protocol.
#include <blitz.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_padding = 300, max_message = 4096, max_senders = 64 };

struct part {
    uint64_t origin, size, before;
};

struct numbered {
    struct part part;
    uint64_t sender, number, is_last, checksum;
};

static const uint64_t fnv_start = 0xcbf29ce484222325U;

static uint64_t fnv(uint64_t hash, const void *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3U;
    return hash;
}

static void must(int result, const char *what) {
    if (result == BLITZ_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, blitz_strerror(result), blitz_last_error());
    exit(1);
}

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void say(const char *word, uint64_t number) {
    printf("%s %" PRIu64 "\n", word, number);
    fflush(stdout);
}

static void wait_for_line(void) {
    for (int each = getchar(); each != '\n' && each != EOF;) each = getchar();
}

// Another participant joins at this moment, or the sender before still holds the only place.
static bool joins_again(int result) {
    if (result != BLITZ_EBUSY && result != BLITZ_EFULL) return false;
    must(blitz_sleep_ns(1000000), "sleep");
    return true;
}

static size_t padding_of(const struct numbered *head) { return (head->sender * 31 + head->number * 7) % max_padding; }

static uint64_t checksum(const struct numbered *head, const unsigned char *padding, size_t len) {
    return fnv(fnv(fnv_start, &head->sender, 3 * sizeof(uint64_t)), padding, len);
}

static void send_one(blitz_ipc_sender *sender, uint64_t id, uint64_t number, bool is_last) {
    struct numbered head = {.sender = id, .number = number, .is_last = is_last};
    const size_t len = padding_of(&head);
    const size_t size = sizeof head + len;
    void *room;
    must(blitz_ipc_loan(sender, size, BLITZ_NEVER, &room), "loan");
    unsigned char *padding = (unsigned char *)room + sizeof head;
    for (size_t i = 0; i < len; i++) padding[i] = (unsigned char)(number + i);
    head.part = (struct part){.origin = id, .size = size - sizeof head.part, .before = 0};
    head.checksum = checksum(&head, padding, len);
    memcpy(room, &head, sizeof head);
    must(blitz_ipc_loan_send(sender, size), "send");
}

static int send_all(const char *name, const blitz_ipc_settings *settings, uint64_t id, int phases, char **counts) {
    blitz_ipc_sender *sender;
    int result;
    do result = blitz_ipc_sender_open(name, settings, &sender);
    while (joins_again(result));
    must(result, "sender");
    puts("joined");
    fflush(stdout);
    uint64_t number = 0;
    for (int phase = 0; phase < phases; phase++) {
        wait_for_line();
        const uint64_t count = strtoull(counts[phase], NULL, 10);
        const uint64_t end = count == 0 ? UINT64_MAX : number + count;
        while (number < end) {
            send_one(sender, id, number, phase + 1 == phases && number + 1 == end);
            if (++number % 64 == 0) say("at", number);
        }
        say("sent", number);
    }
    blitz_ipc_sender_free(sender);
    return 0;
}

// What a receiver has seen of each sender, in the order of their numbers.
struct seen {
    uint64_t next[max_senders], total, order, ended;
};

static void take_in(struct seen *seen, const unsigned char *message, size_t len) {
    struct numbered head;
    if (len < sizeof head) fail("a short message");
    memcpy(&head, message, sizeof head);
    const unsigned char *padding = message + sizeof head;
    const size_t padded = len - sizeof head;
    if (head.part.size != len - sizeof head.part || head.part.before != 0 || padded != padding_of(&head) ||
        head.checksum != checksum(&head, padding, padded) || head.sender >= max_senders)
        fail("a torn message");
    if (head.number != seen->next[head.sender]++) fail("a gap");
    seen->order = fnv(seen->order, &head.sender, 2 * sizeof(uint64_t));
    seen->ended += head.is_last;
    seen->total++;
}

static int receive_all(const char *name, const blitz_ipc_settings *settings, uint64_t lasts, uint64_t stall) {
    blitz_ipc_receiver *receiver;
    int result;
    do result = blitz_ipc_receiver_open(name, settings, &receiver);
    while (joins_again(result));
    must(result, "receiver");
    puts("joined");
    fflush(stdout);
    struct seen seen = {.order = fnv_start};
    while (seen.ended < lasts) {
        const void *message;
        size_t len;
        result = blitz_ipc_take(receiver, BLITZ_NEVER, &message, &len);
        if (result == BLITZ_ECLOSED) {
            // No sender has joined, or all have left: another one comes.
            must(blitz_sleep_ns(1000000), "sleep");
            continue;
        }
        must(result, "take");
        take_in(&seen, message, len);
        must(blitz_ipc_release(receiver), "release");
        if (seen.total % 64 == 0) say("at", seen.total);
        if (seen.total == stall) {
            puts("stalled");
            fflush(stdout);
            wait_for_line();
        }
    }
    printf("end %016" PRIx64, seen.order);
    for (int id = 0; id < max_senders; id++)
        if (seen.next[id] > 0) printf(" %d:%" PRIu64, id, seen.next[id]);
    puts("");
    blitz_ipc_receiver_free(receiver);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 6) fail("usage: participant route|channel NAME send ID COUNT... | receive SENDERS STALL");
    const bool is_route = strcmp(argv[1], "route") == 0;
    const blitz_ipc_settings settings = {
        .size = sizeof settings,
        .kind = is_route ? BLITZ_IPC_ROUTE : BLITZ_IPC_CHANNEL,
        .capacity = 256,
        .max_len = max_message,
        .max_senders = is_route ? 1 : 448,
    };
    char name[256];
    snprintf(name, sizeof name, "libipc-..%s", argv[2]);
    const uint64_t first = strtoull(argv[4], NULL, 10);
    if (strcmp(argv[3], "send") == 0) return send_all(name, &settings, first, argc - 5, argv + 5);
    return receive_all(name, &settings, first, strtoull(argv[5], NULL, 10));
}
