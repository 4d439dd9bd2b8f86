/* SPDX-License-Identifier: MIT */
/* http_server.h - the server of tests/tools/ranges.py over the files of a case's directory www. */
#ifndef TESTS_UNIT_HTTP_SERVER_H
#define TESTS_UNIT_HTTP_SERVER_H

#include "tests/unit/temp_dir.h"

#include <sys/types.h>

struct http_server {
	pid_t process;
	unsigned port;
};

/* Once it answers; http_server_stop() is due. Skips the case where there is no Python. */
struct http_server http_server_start(void **state);
void http_server_stop(struct http_server *server);

/* "http://127.0.0.1:PORT/MANNER/FILE" */
struct path http_server_url(const struct http_server *server, const char *file);

/* A file of n bytes, which differ from those of another seed, in www. Returns them, to free. */
uint8_t *http_server_file(void **state, const char *name, size_t n, uint64_t seed);

/* How many requests there were, and how many bytes of files they were answered with. */
unsigned http_server_requests(void **state, uint64_t *bytes);

#endif
