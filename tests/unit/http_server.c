/* SPDX-License-Identifier: MIT */
/* http_server.c - see http_server.h. */
#include "tests/unit/http_server.h"
#include "tests/unit/tasks.h"
#include "tests/unit/zstd_file.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The server's port, from the file that it writes; 0 before that. */
static unsigned read_port(void **state)
{
	unsigned port = 0;
	FILE *in = fopen(in_temp(state, "port").text, "r");

	if (!in)
		return 0;
	if (fscanf(in, "%u", &port) != 1)
		port = 0;
	fclose(in);
	return port;
}

static void run_python(void **state)
{
	/* The server ends with a test that is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("python3", "python3", "tests/tools/ranges.py", in_temp(state, "www").text,
	       in_temp(state, "port").text, in_temp(state, "requests").text, (char *)NULL);
	_exit(127);
}

struct http_server http_server_start(void **state)
{
	struct http_server server = { .process = fork() };
	int status;

	must(server.process >= 0);
	if (server.process == 0)
		run_python(state);
	while (!server.port) {
		if (waitpid(server.process, &status, WNOHANG) != 0)
			skip();
		tick();
		server.port = read_port(state);
	}
	return server;
}

void http_server_stop(struct http_server *server)
{
	kill(server->process, SIGKILL);
	waitpid(server->process, NULL, 0);
}

struct path http_server_url(const struct http_server *server, const char *file)
{
	struct path url;

	snprintf(url.text, sizeof(url.text), "http://127.0.0.1:%u/%s", server->port, file);
	return url;
}

uint8_t *http_server_file(void **state, const char *name, size_t n, uint64_t seed)
{
	uint8_t *bytes = mk_random(n, seed, 0xff);

	mkdir(in_temp(state, "www").text, 0700);
	write_file(path_in(in_temp(state, "www").text, name).text, bytes, n);
	return bytes;
}

unsigned http_server_requests(void **state, uint64_t *bytes)
{
	FILE *in = fopen(in_temp(state, "requests").text, "r");
	unsigned n = 0;
	uint64_t one;

	*bytes = 0;
	while (in && fscanf(in, "%*s %*s %*s %*s %" SCNu64, &one) == 1) {
		*bytes += one;
		n++;
	}
	if (in)
		fclose(in);
	return n;
}
