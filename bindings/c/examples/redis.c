// A client library that knows nothing of fibers waits in one: hiredis, through blitz_fd_wait.
//
// The program starts a server of its own (redis-server) on a Unix socket in a new folder.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkdtemp, also with -std=c11
#endif
#include <blitz.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 16, COMMANDS = 100 };

static char folder[] = "/tmp/blitz-redis-XXXXXX";
static char path[64];

static void must(int result, const char *what) {
    if (result == BLITZ_OK) return;
    fprintf(stderr, "%s: %s (%s)\n", what, blitz_strerror(result), blitz_last_error());
    exit(1);
}

// Sends a command and waits for the reply, without blocking the thread. hiredis gives the steps of
// its blocking function one by one for a non-blocking connection.
static redisReply *command(redisContext *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int appended = redisvAppendCommand(context, format, arguments);
    va_end(arguments);
    if (appended != REDIS_OK) return NULL;
    int done = 0;
    while (!done) {
        if (redisBufferWrite(context, &done) != REDIS_OK) return NULL;
        if (!done) must(blitz_fd_wait(context->fd, BLITZ_FD_WRITE, BLITZ_NEVER, NULL), "wait");
    }
    void *reply = NULL;
    for (;;) {
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK) return NULL;
        if (reply != NULL) return reply;
        must(blitz_fd_wait(context->fd, BLITZ_FD_READ, BLITZ_NEVER, NULL), "wait");
        if (redisBufferRead(context) != REDIS_OK) return NULL;
    }
}

static void *client(void *argument) {
    redisContext *context = redisConnectUnixNonBlock(path);
    if (context == NULL || context->err) exit(1);
    for (int i = 0; i < COMMANDS; i++) {
        redisReply *reply = command(context, "INCRBY sum %d", (int)(size_t)argument);
        if (reply == NULL || reply->type != REDIS_REPLY_INTEGER) exit(1);
        freeReplyObject(reply);
    }
    redisFree(context);
    return NULL;
}

static long long sum(void) {
    redisContext *context = redisConnectUnixNonBlock(path);
    if (context == NULL || context->err) exit(1);
    redisReply *reply = command(context, "GET sum");
    if (reply == NULL || reply->type != REDIS_REPLY_STRING) exit(1);
    long long value = atoll(reply->str);
    freeReplyObject(reply);
    redisFree(context);
    return value;
}

int main(void) {
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(path, sizeof path, "%s/socket", folder);
    const char *arguments[] = {"--port", "0", "--unixsocket", path, "--save", "", NULL};
    blitz_process_settings settings = {
        .size = sizeof(blitz_process_settings),
        .program = "redis-server",
        .arguments = arguments,
        .directory = folder,
        .output = BLITZ_STDIO_NULL,
        .kill_on_free = true,
    };
    blitz_process *server;
    must(blitz_process_spawn(&settings, &server), "redis-server");
    blitz_stream *probe;
    while (blitz_unix_connect(path, BLITZ_NEVER, &probe) != BLITZ_OK) blitz_sleep_ns(10000000);
    blitz_stream_free(probe);

    blitz_task *clients[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++)
        must(blitz_spawn(NULL, NULL, client, (void *)(i + 1), &clients[i]), "spawn");
    for (int i = 0; i < CLIENTS; i++) must(blitz_task_join(clients[i], BLITZ_NEVER, NULL), "join");
    long long total = sum();
    printf("%d fibers added up to %lld in the server\n", CLIENTS, total);

    must(blitz_process_kill(server), "kill");
    must(blitz_process_wait(server, BLITZ_NEVER, NULL), "wait");
    blitz_process_free(server);
    unlink(path);
    rmdir(folder);
    return total == (long long)COMMANDS * CLIENTS * (CLIENTS + 1) / 2 ? 0 : 1;
}
