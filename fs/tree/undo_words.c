/* SPDX-License-Identifier: MIT */
/* undo_words.c - see undo_words.h. */
#include "fs/tree/undo_words.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct undo_words {
	size_t most;	      /* bytes */
	bool comments;	      /* lines that begin with '#' say nothing */
	pthread_mutex_t lock; /* protects what follows */
	bool begun;	      /* something was written since the last undo_words_take() */
	int failed;	      /* and refused */
	bool inside;	      /* a line */
	bool silent;	      /* which says nothing */
	uint64_t next;	      /* offset */
	char *text;
	size_t n, room, told; /* told of these were taken, and are kept */
};

struct undo_words *undo_words_new(size_t most, bool comments)
{
	struct undo_words *words = calloc(1, sizeof(*words));

	if (words) {
		words->most = most;
		words->comments = comments;
		pthread_mutex_init(&words->lock, NULL);
	}
	return words;
}

void undo_words_free(struct undo_words *words)
{
	if (!words)
		return;
	pthread_mutex_destroy(&words->lock);
	free(words->text);
	free(words);
}

/* With the lock held: room for n bytes more, and a NUL. */
static int make_room(struct undo_words *words, size_t n)
{
	size_t room;
	char *more;

	if (n > words->most - words->n)
		return -EFBIG;
	if (words->n + n < words->room)
		return 0;
	room = 2 * (words->n + n) + 64;
	more = realloc(words->text, room);
	if (!more)
		return -ENOMEM;
	words->text = more;
	words->room = room;
	return 0;
}

/* With the lock held: what begins a line, or goes on with it. */
static int add(struct undo_words *words, const char *bytes, size_t n)
{
	int rc;

	if (!words->inside)
		words->silent = words->comments && bytes[0] == '#';
	words->inside = bytes[n - 1] != '\n';
	if (words->silent)
		return 0;
	rc = make_room(words, n);
	if (rc < 0)
		return rc;
	memcpy(words->text + words->n, bytes, n);
	words->n += n;
	return 0;
}

int undo_words_write(struct undo_words *words, const char *bytes, size_t n, uint64_t offset)
{
	int rc;

	pthread_mutex_lock(&words->lock);
	rc = words->failed;
	if (rc == 0 && (memchr(bytes, '\0', n) || (words->begun && offset != words->next)))
		rc = -EINVAL;
	for (size_t at = 0; rc == 0 && at < n;) {
		const char *end = memchr(bytes + at, '\n', n - at);
		const size_t length = end ? (size_t)(end - bytes) - at + 1 : n - at;

		rc = add(words, bytes + at, length);
		at += length;
	}
	words->begun = true;
	words->failed = rc;
	words->next = offset + n;
	pthread_mutex_unlock(&words->lock);
	return rc;
}

bool undo_words_at_line(struct undo_words *words)
{
	bool at;

	pthread_mutex_lock(&words->lock);
	at = !words->inside;
	pthread_mutex_unlock(&words->lock);
	return at;
}

void undo_words_refuse(struct undo_words *words)
{
	pthread_mutex_lock(&words->lock);
	words->failed = -ECANCELED;
	pthread_mutex_unlock(&words->lock);
}

/* With the lock held. */
static void begin_again(struct undo_words *words)
{
	words->n = words->told = 0;
	words->failed = 0;
	words->begun = words->inside = false;
}

/* With the lock held, and room for a NUL. */
static char *give(struct undo_words *words, bool keep, size_t *n)
{
	char *text = words->text;

	text[words->n] = '\0';
	*n = words->n;
	if (keep) {
		char *copy = malloc(words->n + 1);

		return copy ? memcpy(copy, text, words->n + 1) : NULL;
	}
	words->text = NULL;
	words->room = 0;
	return text;
}

char *undo_words_take(struct undo_words *words, bool more, size_t *n)
{
	const bool keep = more && !words->comments;
	char *text = NULL;

	pthread_mutex_lock(&words->lock);
	if (words->begun && !(more && words->comments && words->inside && !words->failed)) {
		if (!words->failed && (words->n > words->told || words->told == 0) &&
		    make_room(words, 0) == 0)
			text = give(words, keep, n);
		words->told = text ? words->n : words->told;
		if (!keep || words->failed)
			begin_again(words);
	}
	pthread_mutex_unlock(&words->lock);
	return text;
}
