// Descriptors, sockets, files, names, child processes and signals.
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 8, ROUNDS = 50 };

static char directory[] = "/tmp/blitz-c-XXXXXX";

static void path_of(char *path, size_t size, const char *name) {
    static unsigned number;
    snprintf(path, size, "%s/%s%u", directory, name, number++);
}

static void *serve(void *argument) {
    blitz_stream *stream = argument;
    char buffer[100];
    size_t count;
    for (;;) {
        OK(blitz_stream_read(stream, buffer, sizeof buffer, &count));
        if (count == 0) break;
        OK(blitz_stream_write_all(stream, buffer, count, BLITZ_NEVER, NULL));
    }
    blitz_stream_free(stream);
    return NULL;
}

static void *accept_all(void *argument) {
    struct worker workers[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        blitz_stream *stream;
        OK(blitz_listener_accept(argument, &stream));
        start(&workers[i], serve, stream);
    }
    for (int i = 0; i < CLIENTS; i++) finish(&workers[i]);
    blitz_stream *stream;
    EXPECT(BLITZ_EAGAIN, blitz_listener_try_accept(argument, &stream));
    EXPECT(BLITZ_ETIMEDOUT, blitz_listener_accept_until(argument, after_ms(5), &stream));
    return NULL;
}

static void talk(blitz_stream *stream) {
    for (int i = 0; i < ROUNDS; i++) {
        char sent[64], received[64];
        int length = snprintf(sent, sizeof sent, "message %d", i);
        size_t count;
        OK(blitz_stream_write_all(stream, sent, (size_t)length, after_ms(60000), &count));
        CHECK(count == (size_t)length);
        OK(blitz_stream_read_exact(stream, received, count, after_ms(60000), &count));
        CHECK(count == (size_t)length && memcmp(sent, received, count) == 0);
    }
    char byte;
    size_t count;
    EXPECT(BLITZ_EAGAIN, blitz_stream_try_read(stream, &byte, 1, &count));
    EXPECT(BLITZ_ETIMEDOUT, blitz_stream_read_until(stream, &byte, 1, after_ms(5), &count));
    OK(blitz_stream_shutdown(stream, BLITZ_SHUTDOWN_WRITE));
    OK(blitz_stream_read(stream, &byte, 1, &count));
    CHECK(count == 0);
    EXPECT(BLITZ_EEOF, blitz_stream_read_exact(stream, &byte, 1, BLITZ_NEVER, &count));
    CHECK(count == 0);
    EXPECT(BLITZ_EINVAL, blitz_stream_shutdown(stream, 4));
    blitz_stream_free(stream);
}

static void *tcp_client(void *argument) {
    blitz_stream *stream;
    blitz_address local, peer;
    OK(blitz_tcp_connect_address(argument, BLITZ_NEVER, &stream));
    OK(blitz_stream_set_nodelay(stream, true));
    OK(blitz_stream_addresses(stream, &local, &peer));
    CHECK(peer.port == ((blitz_address *)argument)->port && local.port != peer.port);
    CHECK(blitz_stream_fd(stream) >= 0);
    talk(stream);
    return NULL;
}

static void tcp_echoes(void) {
    blitz_listener *listener;
    blitz_address address;
    struct worker server, clients[CLIENTS];
    OK(blitz_tcp_listen("127.0.0.1:0", &listener));
    OK(blitz_listener_address(listener, &address));
    start(&server, accept_all, listener);
    for (int i = 0; i < CLIENTS; i++) start(&clients[i], tcp_client, &address);
    for (int i = 0; i < CLIENTS; i++) finish(&clients[i]);
    finish(&server);
    blitz_listener *second;
    char text[64];
    OK(blitz_address_format(&address, text, sizeof text));
    EXPECT(-EADDRINUSE, blitz_tcp_listen(text, &second));
    CHECK(blitz_listener_fd(listener) >= 0);
    blitz_listener_free(listener);
    blitz_stream *stream;
    EXPECT(-ECONNREFUSED, blitz_tcp_connect(text, BLITZ_NEVER, &stream));
    CHECK(strcmp(blitz_error_name(-ECONNREFUSED), "errno") == 0);
    CHECK(blitz_os_error(-ECONNREFUSED) == ECONNREFUSED);
    EXPECT(BLITZ_EINVAL, blitz_tcp_connect("no port", BLITZ_NEVER, &stream));
}

static void *unix_client(void *argument) {
    blitz_stream *stream;
    OK(blitz_unix_connect(argument, BLITZ_NEVER, &stream));
    EXPECT(BLITZ_EINVAL, blitz_stream_set_nodelay(stream, true));
    talk(stream);
    return NULL;
}

static void unix_sockets_echo(void) {
    char path[100];
    blitz_listener *listener;
    struct worker server, clients[CLIENTS];
    path_of(path, sizeof path, "socket");
    OK(blitz_unix_listen(path, &listener));
    start(&server, accept_all, listener);
    for (int i = 0; i < CLIENTS; i++) start(&clients[i], unix_client, path);
    for (int i = 0; i < CLIENTS; i++) finish(&clients[i]);
    finish(&server);
    blitz_listener_free(listener);

    blitz_stream *one, *other;
    OK(blitz_unix_pair(&one, &other));
    start(&server, serve, other);
    talk(one);
    finish(&server);
}

static void *udp_body(void *argument) {
    (void)argument;
    blitz_udp *one, *other;
    blitz_address address, from;
    char text[16];
    size_t count;
    OK(blitz_udp_bind("127.0.0.1:0", &one));
    OK(blitz_udp_bind("127.0.0.1:0", &other));
    OK(blitz_udp_address(other, &address));
    EXPECT(BLITZ_EAGAIN, blitz_udp_try_recv(other, text, sizeof text, &count, NULL));
    EXPECT(BLITZ_ETIMEDOUT, blitz_udp_recv(other, text, sizeof text, after_ms(5), &count, NULL));
    OK(blitz_udp_send(one, "datagram", 8, &address, BLITZ_NEVER));
    OK(blitz_udp_recv(other, text, sizeof text, BLITZ_NEVER, &count, &from));
    CHECK(count == 8 && memcmp(text, "datagram", 8) == 0);
    OK(blitz_udp_address(one, &address));
    CHECK(from.port == address.port && from.family == 4 && from.ip[0] == 127);
    address.family = 5;
    EXPECT(BLITZ_EINVAL, blitz_udp_send(one, "x", 1, &address, 0));
    CHECK(blitz_udp_fd(one) >= 0);
    blitz_udp_free(one);
    blitz_udp_free(other);
    return NULL;
}

static void udp_sends(void) {
    struct worker worker;
    start(&worker, udp_body, NULL);
    finish(&worker);
}

static void *dns_body(void *argument) {
    (void)argument;
    blitz_address addresses[8], parsed;
    char text[64];
    size_t count;
    OK(blitz_dns_lookup("localhost:80", BLITZ_NEVER, addresses, 8, &count));
    CHECK(count >= 1 && addresses[0].port == 80);
    CHECK(blitz_dns_lookup("no-such-host.invalid:80", BLITZ_NEVER, addresses, 8, &count) < 0);
    OK(blitz_address_parse("[::1]:443", &parsed));
    CHECK(parsed.family == 6 && parsed.port == 443 && parsed.ip[15] == 1);
    OK(blitz_address_format(&parsed, text, sizeof text));
    CHECK(strcmp(text, "[::1]:443") == 0);
    EXPECT(BLITZ_ESIZE, blitz_address_format(&parsed, text, 4));
    EXPECT(BLITZ_EINVAL, blitz_address_parse("localhost:80", &parsed));
    return NULL;
}

static void names_are_looked_up(void) {
    struct worker worker;
    start(&worker, dns_body, NULL);
    finish(&worker);
}

static void *file_body(void *argument) {
    (void)argument;
    char path[100], text[32];
    blitz_file *file;
    size_t count;
    uint64_t number;
    path_of(path, sizeof path, "file");
    EXPECT(-ENOENT, blitz_file_open(path, BLITZ_OPEN_READ, 0, &file));
    EXPECT(BLITZ_EINVAL, blitz_file_open(path, 0, 0, &file));
    EXPECT(BLITZ_EINVAL, blitz_file_open(path, 64, 0, &file));
    OK(blitz_file_open(path, BLITZ_OPEN_READ | BLITZ_OPEN_WRITE | BLITZ_OPEN_CREATE_NEW, 0600, &file));
    OK(blitz_file_write(file, "0123456789", 10));
    OK(blitz_file_sync(file, true));
    OK(blitz_file_len(file, &number));
    CHECK(number == 10);
    OK(blitz_file_seek(file, 4, BLITZ_SEEK_SET, &number));
    CHECK(number == 4);
    OK(blitz_file_read(file, text, sizeof text, &count));
    CHECK(count == 6 && memcmp(text, "456789", 6) == 0);
    OK(blitz_file_read(file, text, sizeof text, &count));
    CHECK(count == 0);
    EXPECT(BLITZ_EINVAL, blitz_file_seek(file, -1, BLITZ_SEEK_SET, NULL));
    EXPECT(BLITZ_EINVAL, blitz_file_seek(file, 0, 3, NULL));
    OK(blitz_file_set_len(file, 3));
    OK(blitz_file_seek(file, -1, BLITZ_SEEK_END, &number));
    CHECK(number == 2);
    blitz_file_free(file);
    EXPECT(-EEXIST, blitz_file_open(path, BLITZ_OPEN_WRITE | BLITZ_OPEN_CREATE_NEW, 0600, &file));
    OK(blitz_file_open(path, BLITZ_OPEN_READ, 0, &file));
    CHECK(blitz_file_write(file, "x", 1) == -EBADF);
    blitz_file_free(file);
    unlink(path);
    return NULL;
}

static void files_are_written(void) {
    struct worker worker;
    start(&worker, file_body, NULL);
    finish(&worker);
}

static void *fd_body(void *argument) {
    int *ends = argument;
    uint32_t ready;
    char byte;
    int quiet[2];
    CHECK(pipe(quiet) == 0);
    EXPECT(BLITZ_ETIMEDOUT, blitz_fd_wait(quiet[0], BLITZ_FD_READ, after_ms(5), &ready));
    EXPECT(BLITZ_ETIMEDOUT, blitz_fd_wait(quiet[0], BLITZ_FD_READ, 0, &ready));
    close(quiet[0]);
    close(quiet[1]);
    EXPECT(BLITZ_EINVAL, blitz_fd_wait(ends[0], 0, 0, &ready));
    EXPECT(BLITZ_EINVAL, blitz_fd_wait(ends[0], BLITZ_FD_ERROR, 0, &ready));
    EXPECT(-EBADF, blitz_fd_wait(100000, BLITZ_FD_READ, 0, &ready));
    for (int i = 0; i < 20; i++) {
        OK(blitz_fd_wait(ends[0], BLITZ_FD_READ, BLITZ_NEVER, &ready));
        CHECK(ready == BLITZ_FD_READ);
        CHECK(read(ends[0], &byte, 1) == 1 && byte == (char)i);
        OK(blitz_fd_wait(ends[3], BLITZ_FD_WRITE, BLITZ_NEVER, &ready));
        CHECK(write(ends[3], &byte, 1) == 1);
    }
    OK(blitz_fd_wait(ends[0], BLITZ_FD_READ, BLITZ_NEVER, &ready));
    CHECK(ready & BLITZ_FD_HANGUP);
    return NULL;
}

static void *wait_readable(void *argument) {
    OK(blitz_fd_wait(*(int *)argument, BLITZ_FD_READ, BLITZ_NEVER, NULL));
    return NULL;
}

struct watched {
    int fd;
    blitz_fd_watch *watch;
};

// Reads one byte, and waits for it. False at the end.
static bool read_watched(struct watched *watched, char *byte) {
    while (true) {
        ssize_t count = read(watched->fd, byte, 1);
        if (count >= 0) return count == 1;
        CHECK(errno == EAGAIN);
        OK(blitz_fd_watch_wait(watched->watch, BLITZ_FD_READ, BLITZ_NEVER));
    }
}

static void *watch_body(void *argument) {
    struct watched *ends = argument;
    char byte;
    EXPECT(BLITZ_ETIMEDOUT, blitz_fd_watch_wait(ends[2].watch, BLITZ_FD_READ, after_ms(5)));
    EXPECT(BLITZ_ETIMEDOUT, blitz_fd_watch_wait(ends[2].watch, BLITZ_FD_READ, 0));
    for (int i = 0; i < 20; i++) {
        CHECK(read_watched(&ends[0], &byte) && byte == (char)i);
        OK(blitz_fd_watch_wait(ends[1].watch, BLITZ_FD_WRITE, BLITZ_NEVER));
        CHECK(write(ends[1].fd, &byte, 1) == 1);
    }
    CHECK(!read_watched(&ends[0], &byte));
    return NULL;
}

static void *read_one(void *argument) {
    char byte;
    CHECK(read_watched(argument, &byte));
    return NULL;
}

static void watches_are_used_again(void) {
    int there[2], back[2], quiet[2];
    char byte;
    CHECK(pipe2(there, O_NONBLOCK) == 0 && pipe(back) == 0 && pipe(quiet) == 0);
    struct watched ends[3] = {{.fd = there[0]}, {.fd = back[1]}, {.fd = quiet[0]}};
    for (int i = 0; i < 3; i++) OK(blitz_fd_watch_new(ends[i].fd, &ends[i].watch));
    struct worker worker;
    start(&worker, watch_body, ends);
    for (int i = 0; i < 20; i++) {
        byte = (char)i;
        CHECK(write(there[1], &byte, 1) == 1);
        CHECK(read(back[0], &byte, 1) == 1 && byte == (char)i);
    }
    close(there[1]);
    finish(&worker);
    for (int i = 0; i < 3; i++) blitz_fd_watch_free(ends[i].watch);

    // Several wait by one watch, and each gets one byte.
    int shared[2];
    CHECK(pipe2(shared, O_NONBLOCK) == 0);
    struct watched reading = {.fd = shared[0]};
    OK(blitz_fd_watch_new(shared[0], &reading.watch));
    struct worker several[4];
    for (int i = 0; i < 4; i++) start(&several[i], read_one, &reading);
    CHECK(write(shared[1], "one", 3) == 3);
    CHECK(write(shared[1], "x", 1) == 1);
    for (int i = 0; i < 4; i++) finish(&several[i]);
    blitz_fd_watch_free(reading.watch);
    int *all[] = {there, back, quiet, shared};
    for (int i = 0; i < 4; i++) {
        if (all[i] != there) close(all[i][1]);
        close(all[i][0]);
    }
}

static void descriptors_are_waited_for(void) {
    int ends[4];
    char byte;
    CHECK(pipe2(ends, O_NONBLOCK) == 0 && pipe(ends + 2) == 0);
    struct worker worker;
    start(&worker, fd_body, ends);
    for (int i = 0; i < 20; i++) {
        byte = (char)i;
        CHECK(write(ends[1], &byte, 1) == 1);
        CHECK(read(ends[2], &byte, 1) == 1 && byte == (char)i);
    }
    close(ends[1]);
    finish(&worker);

    // Several wait for one descriptor.
    struct worker several[4];
    for (int i = 0; i < 4; i++) start(&several[i], wait_readable, &ends[2]);
    blitz_sleep_ns(5000000);
    CHECK(write(ends[3], "x", 1) == 1);
    for (int i = 0; i < 4; i++) finish(&several[i]);
    close(ends[0]);
    close(ends[2]);
    close(ends[3]);
}

static void *process_body(void *argument) {
    (void)argument;
    const char *arguments[] = {"-c", "read line; echo \"$GREETING $line\"; exit 3", NULL};
    const char *environment[] = {"GREETING=hello", "PATH=/usr/bin:/bin", NULL};
    blitz_process_settings settings = {
        .size = sizeof(blitz_process_settings),
        .program = "/bin/sh",
        .arguments = arguments,
        .environment = environment,
        .input = BLITZ_STDIO_PIPE,
        .output = BLITZ_STDIO_PIPE,
        .kill_on_free = true,
    };
    blitz_process *process;
    blitz_stream *input, *output;
    OK(blitz_process_spawn(&settings, &process));
    CHECK(blitz_process_id(process) > 0);
    OK(blitz_process_take_stream(process, 0, &input));
    OK(blitz_process_take_stream(process, 1, &output));
    EXPECT(BLITZ_EINVAL, blitz_process_take_stream(process, 1, &output));
    EXPECT(BLITZ_EINVAL, blitz_process_take_stream(process, 2, &output));
    EXPECT(BLITZ_ETIMEDOUT, blitz_process_wait(process, after_ms(5), NULL));
    OK(blitz_stream_write_all(input, "world\n", 6, BLITZ_NEVER, NULL));
    char text[12];
    size_t count;
    OK(blitz_stream_read_exact(output, text, 12, BLITZ_NEVER, NULL));
    CHECK(memcmp(text, "hello world\n", 12) == 0);
    OK(blitz_stream_read(output, text, 12, &count));
    CHECK(count == 0);
    int status;
    OK(blitz_process_wait(process, BLITZ_NEVER, &status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    blitz_stream_free(input);
    blitz_stream_free(output);
    blitz_process_free(process);

    const char *sleep[] = {"60", NULL};
    settings = (blitz_process_settings){.size = sizeof(blitz_process_settings), .program = "sleep", .arguments = sleep};
    OK(blitz_process_spawn(&settings, &process));
    OK(blitz_process_kill(process));
    OK(blitz_process_wait(process, BLITZ_NEVER, &status));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    blitz_process_free(process);

    settings = (blitz_process_settings){.size = sizeof(blitz_process_settings), .program = "/no/such/program"};
    EXPECT(-ENOENT, blitz_process_spawn(&settings, &process));
    settings.input = 7;
    EXPECT(BLITZ_EINVAL, blitz_process_spawn(&settings, &process));
    return NULL;
}

static void processes_run(void) {
    struct worker worker;
    start(&worker, process_body, NULL);
    finish(&worker);
}

static void *signal_body(void *argument) {
    OK(blitz_signal_wait(argument, BLITZ_NEVER));
    return NULL;
}

static void signals_arrive(void) {
    blitz_signal *listener;
    struct worker worker;
    OK(blitz_signal_new(SIGUSR1, &listener));
    EXPECT(BLITZ_ETIMEDOUT, blitz_signal_wait(listener, after_ms(5)));
    start(&worker, signal_body, listener);
    CHECK(kill(getpid(), SIGUSR1) == 0);
    finish(&worker);
    blitz_signal_free(listener);
    CHECK(blitz_signal_new(SIGKILL, &listener) < 0);
}

struct room {
    blitz_stream *stream;
    size_t to_read;
};

// Reads `to_read` bytes and no more: the writer may have written others by then.
static void *read_some(void *argument) {
    struct room *room = argument;
    static char bytes[65536];
    while (room->to_read > 0) {
        size_t most = room->to_read < sizeof bytes ? room->to_read : sizeof bytes, count;
        OK(blitz_stream_read(room->stream, bytes, most, &count));
        CHECK(count > 0);
        room->to_read -= count;
    }
    return NULL;
}

// The other end reads nothing, so the socket gets full.
static void *fill_a_stream(void *argument) {
    blitz_stream *one, *other;
    OK(blitz_unix_pair(&one, &other));
    static char bytes[65536];
    size_t count = 0, sent = 0;
    int result;
    while ((result = blitz_stream_write_until(one, bytes, sizeof bytes, after_ms(5), &count)) == BLITZ_OK) sent += count;
    EXPECT(BLITZ_ETIMEDOUT, result);
    EXPECT(BLITZ_ETIMEDOUT, blitz_stream_write_until(one, bytes, sizeof bytes, 1, &count));
    EXPECT(BLITZ_EAGAIN, blitz_stream_try_write(one, bytes, sizeof bytes, &count));
    // This waits until the other end has read something.
    struct room room = {.stream = other, .to_read = sent};
    struct worker reader;
    start(&reader, read_some, &room);
    OK(blitz_stream_write(one, bytes, sizeof bytes, &count));
    CHECK(count > 0);
    finish(&reader);
    room.to_read = count;
    read_some(&room);
    OK(blitz_stream_try_write(one, bytes, 5, &count));
    CHECK(count == 5);
    room.to_read = 5;
    read_some(&room);
    EXPECT(BLITZ_EAGAIN, blitz_stream_try_read(other, bytes, sizeof bytes, &count));
    OK(blitz_stream_write_until(one, bytes, 1, BLITZ_NEVER, &count));
    CHECK(count == 1);
    EXPECT(BLITZ_EINVAL, blitz_stream_write_until(NULL, bytes, 1, BLITZ_NEVER, &count));
    blitz_stream_free(one);
    blitz_stream_free(other);
    return argument;
}

static void a_full_stream_is_written_until_the_deadline(void) {
    struct worker worker;
    start(&worker, fill_a_stream, NULL);
    finish(&worker);
}

// The domain `invalid` has no hosts.
static void an_unknown_host_has_an_error_of_its_own(void) {
    blitz_address address;
    blitz_stream *stream;
    blitz_listener *listener;
    blitz_udp *udp;
    size_t count;
    EXPECT(BLITZ_EHOST, blitz_dns_lookup("no-such-host.invalid:80", BLITZ_NEVER, &address, 1, &count));
    CHECK(blitz_last_error()[0] != 0);
    EXPECT(BLITZ_EHOST, blitz_tcp_connect("no-such-host.invalid:80", BLITZ_NEVER, &stream));
    EXPECT(BLITZ_EHOST, blitz_tcp_listen("no-such-host.invalid:80", &listener));
    EXPECT(BLITZ_EHOST, blitz_udp_bind("no-such-host.invalid:80", &udp));
    EXPECT(BLITZ_EINVAL, blitz_dns_lookup("no-port.invalid", BLITZ_NEVER, &address, 1, &count));
    CHECK(strcmp(blitz_error_name(BLITZ_EHOST), "BLITZ_EHOST") == 0);
}

int main(void) {
    CHECK(mkdtemp(directory) != NULL);
    static const struct test tests[] = {
        {"an_unknown_host_has_an_error_of_its_own", an_unknown_host_has_an_error_of_its_own},
        {"tcp_echoes", tcp_echoes},
        {"unix_sockets_echo", unix_sockets_echo},
        {"a_full_stream_is_written_until_the_deadline", a_full_stream_is_written_until_the_deadline},
        {"udp_sends", udp_sends},
        {"names_are_looked_up", names_are_looked_up},
        {"files_are_written", files_are_written},
        {"descriptors_are_waited_for", descriptors_are_waited_for},
        {"watches_are_used_again", watches_are_used_again},
        {"processes_run", processes_run},
        {"signals_arrive", signals_arrive},
    };
    return RUN_TESTS(tests);
}
