/* SPDX-License-Identifier: MIT */
/* replay.c - drives a fuzzer without libFuzzer: replays files, then mutates them for some seconds.
 *
 *	fuzz_X SECONDS[:SEED] FILE-OR-DIRECTORY...
 *
 * The fuzzer runs in a child, which keeps its input in memory shared with the parent. If the child
 * dies the parent writes that input to build/crash-fuzz_X and exits 1. An input that takes longer
 * than half a minute counts as a crash. */
#include "fuzz_help.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Most bytes of a file that is mutated; longer files are replayed only. */
#define INPUT_MAX  ((size_t)65536)
#define REPLAY_MAX ((size_t)8 << 20)
#define PATIENCE   30

struct input {
	size_t size;
	uint8_t bytes[];
};

struct corpus {
	struct input **inputs;
	size_t n;
	struct input *current; /* shared with the parent */
	uint64_t random;
};

static void *checked(void *block)
{
	if (!block) {
		perror("replay");
		exit(2);
	}
	return block;
}

static uint64_t draw(struct corpus *c, uint64_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return below ? (c->random >> 11) % below : 0;
}

static void add_file(struct corpus *c, const char *path)
{
	FILE *file = checked(fopen(path, "rb"));
	struct input *input = checked(malloc(sizeof(*input) + REPLAY_MAX));

	input->size = fread(input->bytes, 1, REPLAY_MAX, file);
	fclose(file);
	input = checked(realloc(input, sizeof(*input) + input->size));
	c->inputs = checked(realloc(c->inputs, (c->n + 1) * sizeof(*c->inputs)));
	c->inputs[c->n++] = input;
}

/* Add a file, or the files of a directory in the order of their names. */
static void add_path(struct corpus *c, const char *path)
{
	struct dirent **entries;
	struct stat st;
	int n;

	if (stat(path, &st) < 0) {
		perror(path);
		exit(2);
	}
	if (!S_ISDIR(st.st_mode)) {
		add_file(c, path);
		return;
	}
	n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *child = NULL;

		if (entries[i]->d_name[0] != '.' &&
		    asprintf(&child, "%s/%s", path, entries[i]->d_name) > 0)
			add_path(c, child);
		free(child);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* Run the input in c->current, copied to a block of exactly its size. */
static void run_current(struct corpus *c)
{
	uint8_t *exact = malloc(c->current->size);

	if (!exact && c->current->size)
		checked(NULL);
	if (c->current->size)
		memcpy(exact, c->current->bytes, c->current->size);
	alarm(PATIENCE);
	LLVMFuzzerTestOneInput(exact, c->current->size);
	alarm(0);
	free(exact);
}

static void set_current(struct corpus *c, const struct input *input, size_t most)
{
	c->current->size = input->size < most ? input->size : most;
	memcpy(c->current->bytes, input->bytes, c->current->size);
}

static uint64_t interesting(struct corpus *c)
{
	static const uint64_t values[] = {
		0,	    1,		2,	    3,	       4,	   5,	      8,
		9,	    12,		13,	    32,	       42,	   43,	      97,
		255,	    256,	65535,	    65536,     INT32_MAX,  1u << 31,  UINT32_MAX,
		1ull << 32, 1ull << 40, 1ull << 62, INT64_MAX, 1ull << 63, UINT64_MAX
	};

	if (draw(c, 4) == 0)
		return c->current->size - draw(c, 64);
	return values[draw(c, sizeof(values) / sizeof(values[0]))] + draw(c, 3) - 1;
}

/* Write a number, little-endian, of 4 or 8 bytes, at any byte. */
static void put_number(struct corpus *c)
{
	const size_t width = draw(c, 2) ? 4 : 8;
	uint64_t value = interesting(c);
	size_t at;

	if (c->current->size < width)
		return;
	at = draw(c, c->current->size - width + 1);
	for (size_t i = 0; i < width; i++, value >>= 8)
		c->current->bytes[at + i] = (uint8_t)value;
}

/* Replace the bytes behind some offset by the tail of another input. */
static void splice(struct corpus *c)
{
	const struct input *other = c->inputs[draw(c, c->n)];
	const size_t at = draw(c, c->current->size + 1), from = draw(c, other->size + 1);
	size_t n = other->size - from;

	if (n > INPUT_MAX - at)
		n = INPUT_MAX - at;
	memcpy(c->current->bytes + at, other->bytes + from, n);
	c->current->size = at + n;
}

/* Remove or double some bytes. */
static void shift(struct corpus *c)
{
	struct input *in = c->current;
	const size_t at = draw(c, in->size + 1), n = draw(c, 24);

	if (draw(c, 2)) {
		if (n > in->size - at)
			return;
		memmove(in->bytes + at, in->bytes + at + n, in->size - at - n);
		in->size -= n;
	} else {
		if (n > INPUT_MAX - in->size || n > in->size - at)
			return;
		memmove(in->bytes + at + n, in->bytes + at, in->size - at);
		in->size += n;
	}
}

static void mutate(struct corpus *c)
{
	struct input *in = c->current;

	switch (draw(c, 8)) {
	case 0:
		splice(c);
		break;
	case 1:
		if (draw(c, 4) == 0)
			in->size = draw(c, in->size + 1);
		break;
	case 2:
		shift(c);
		break;
	case 3:
	case 4:
		if (in->size)
			in->bytes[draw(c, in->size)] ^= (uint8_t)(1u << draw(c, 8));
		break;
	case 5:
		/* The last bytes choose for some fuzzers, so a mutation of its own changes them. */
		if (in->size > 16)
			in->bytes[in->size - 1 - draw(c, 16)] = (uint8_t)draw(c, 256);
		break;
	default:
		put_number(c);
	}
}

static int fuzz(struct corpus *c, unsigned seconds)
{
	const time_t end = time(NULL) + (time_t)seconds;
	uint64_t runs = 0;

	for (size_t i = 0; i < c->n; i++) {
		set_current(c, c->inputs[i], REPLAY_MAX);
		run_current(c);
	}
	while (c->n && time(NULL) < end) {
		const struct input *input = c->inputs[draw(c, c->n)];

		if (input->size > INPUT_MAX)
			continue;
		set_current(c, input, INPUT_MAX);
		for (uint64_t n = 1 + draw(c, 6); n; n--)
			mutate(c);
		run_current(c);
		runs++;
	}
	printf("%zu files, %" PRIu64 " mutations\n", c->n, runs);
	for (size_t i = 0; i < c->n; i++)
		free(c->inputs[i]);
	free(c->inputs);
	return 0;
}

/* Report the end of the child, and keep the input that caused it. */
static int report(const struct corpus *c, const char *name, int status)
{
	char path[256];
	FILE *file;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	snprintf(path, sizeof(path), "build/crash-%s", name);
	mkdir("build", 0777);
	file = checked(fopen(path, "wb"));
	fwrite(c->current->bytes, 1, c->current->size, file);
	if (fclose(file) != 0)
		perror(path);
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: killed by signal %d (%s)", name, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "%s: exited with %d", name, WEXITSTATUS(status));
	fprintf(stderr, "; the last input, of %zu bytes, is %s\n", c->current->size, path);
	return 1;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	struct corpus corpus = { .random = (uint64_t)time(NULL) };
	char *seed = NULL;
	unsigned seconds;
	int status;
	pid_t child;

	if (argc < 3) {
		fprintf(stderr, "usage: %s SECONDS[:SEED] FILE-OR-DIRECTORY...\n", name);
		return 2;
	}
	seconds = (unsigned)strtoul(argv[1], &seed, 10);
	if (*seed == ':')
		corpus.random = strtoull(seed + 1, NULL, 10);
	printf("%s: seed %" PRIu64 ", ", name, corpus.random);
	fflush(stdout);
	corpus.random = corpus.random * 0x9e3779b97f4a7c15 | 1;
	corpus.current = mmap(NULL, sizeof(struct input) + REPLAY_MAX, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	checked(corpus.current == MAP_FAILED ? NULL : corpus.current);
	child = fork();
	if (child == 0) {
		for (int i = 2; i < argc; i++)
			add_path(&corpus, argv[i]);
		return fuzz(&corpus, seconds);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror(name);
		return 2;
	}
	return report(&corpus, name, status);
}
