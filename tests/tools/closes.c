/* SPDX-License-Identifier: MIT */
/* closes.c - closes FILE N TEXT: open the file, empty it, write the text and a newline, and close N
 * descriptors of it at the same moment, each on a thread of its own. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 16

static atomic_int ready;
static int descriptors[MOST], n;

static void *close_one(void *fd)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < n)
		;
	close(*(int *)fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];

	n = argc == 4 ? atoi(argv[2]) : 0;
	if (n < 1 || n > MOST) {
		fputs("usage: closes FILE N TEXT\n", stderr);
		return 2;
	}
	descriptors[0] = open(argv[1], O_WRONLY | O_TRUNC);
	if (descriptors[0] < 0 || dprintf(descriptors[0], "%s\n", argv[3]) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (int i = 1; i < n; i++)
		descriptors[i] = dup(descriptors[0]);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, close_one, &descriptors[i]) != 0)
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
