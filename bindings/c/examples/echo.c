// An echo server in blocking style: each connection has a fiber.
//
// Without an argument it serves its own clients and ends. With an address, such as
// 127.0.0.1:7777, it serves until it is interrupted.
#include <blitz.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int result, const char *what) {
    if (result == BLITZ_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, blitz_strerror(result), blitz_last_error());
    exit(1);
}

static void *serve(void *argument) {
    blitz_stream *stream = argument;
    char buffer[4096];
    size_t count;
    while (blitz_stream_read(stream, buffer, sizeof buffer, &count) == BLITZ_OK && count > 0)
        if (blitz_stream_write_all(stream, buffer, count, BLITZ_NEVER, NULL) != BLITZ_OK) break;
    blitz_stream_free(stream);
    return NULL;
}

static void *accept_connections(void *argument) {
    blitz_listener *listener = argument;
    blitz_stream *stream;
    int result;
    while ((result = blitz_listener_accept(listener, &stream)) == BLITZ_OK)
        must(blitz_spawn(NULL, NULL, serve, stream, NULL), "spawn");
    if (result != BLITZ_ECANCELED) must(result, "accept");
    return NULL;
}

static void *client(void *argument) {
    blitz_stream *stream;
    char sent[32], received[32];
    must(blitz_tcp_connect_address(argument, BLITZ_NEVER, &stream), "connect");
    for (int i = 0; i < 100; i++) {
        size_t length = (size_t)snprintf(sent, sizeof sent, "message %d", i);
        must(blitz_stream_write_all(stream, sent, length, BLITZ_NEVER, NULL), "write");
        must(blitz_stream_read_exact(stream, received, length, BLITZ_NEVER, NULL), "read");
        if (memcmp(sent, received, length) != 0) abort();
    }
    blitz_stream_free(stream);
    return NULL;
}

enum { CLIENTS = 64 };

int main(int count, char **arguments) {
    blitz_runtime *runtime;
    blitz_listener *listener;
    blitz_address address;
    blitz_task *server, *clients[CLIENTS];
    must(blitz_runtime_new(NULL, &runtime), "runtime");
    must(blitz_tcp_listen(count > 1 ? arguments[1] : "127.0.0.1:0", &listener), "listen");
    must(blitz_spawn(runtime, NULL, accept_connections, listener, &server), "spawn");
    if (count > 1) {
        blitz_signal *interrupt;
        must(blitz_signal_new(SIGINT, &interrupt), "signal");
        must(blitz_signal_wait(interrupt, BLITZ_NEVER), "signal");
        blitz_signal_free(interrupt);
    } else {
        must(blitz_listener_address(listener, &address), "address");
        for (int i = 0; i < CLIENTS; i++)
            must(blitz_spawn(runtime, NULL, client, &address, &clients[i]), "spawn");
        for (int i = 0; i < CLIENTS; i++)
            must(blitz_task_join(clients[i], BLITZ_NEVER, NULL), "join");
        printf("%d clients got their echo\n", CLIENTS);
    }
    must(blitz_task_cancel(server), "cancel");
    must(blitz_task_join(server, BLITZ_NEVER, NULL), "join");
    blitz_listener_free(listener);
    blitz_runtime_free(runtime);
    return 0;
}
