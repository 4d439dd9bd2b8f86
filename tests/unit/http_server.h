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

/* Start the server, and wait for it; caller stops. Skips the case without Python. */
struct http_server http_server_start(void **state);
void http_server_stop(struct http_server *server);

/* "http://127.0.0.1:PORT/MANNER/FILE" */
struct path http_server_url(const struct http_server *server, const char *file);

/* Write a file of n bytes to www, which depend on seed. Returns the bytes; caller frees. */
uint8_t *http_server_file(void **state, const char *name, size_t n, uint64_t seed);

/* Number of requests, and of bytes of files in their answers. */
unsigned http_server_requests(void **state, uint64_t *bytes);

#endif
