/* SPDX-License-Identifier: MIT */
/* written_words.c - see written_words.h. */
#include "fs/tree/written_words.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct written_words {
	size_t most; /* bytes */
	bool lines;
	pthread_mutex_t lock; /* protects the fields below */
	int failed;	      /* error of later writes; no words are taken any more */
	bool begun;	      /* the next write must begin at next */
	uint64_t next;	      /* offset */
	bool inside;	      /* amid a line */
	bool silent;	      /* the current line is a comment */
	char *text;
	size_t n, room, told; /* told: end of the text taken so far */
};

struct written_words *written_words_new(size_t most, bool lines)
{
	struct written_words *words = calloc(1, sizeof(*words));

	if (words) {
		words->most = most;
		words->lines = lines;
		pthread_mutex_init(&words->lock, NULL);
	}
	return words;
}

void written_words_free(struct written_words *words)
{
	if (!words)
		return;
	pthread_mutex_destroy(&words->lock);
	free(words->text);
	free(words);
}

/* Make room for n bytes more and a NUL, with the lock held. */
static int make_room(struct written_words *words, size_t n)
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

/* Add the beginning or continuation of a line, with the lock held. */
static int add(struct written_words *words, const char *bytes, size_t n)
{
	int rc;

	if (!words->inside)
		words->silent = words->lines && bytes[0] == '#';
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

int written_words_write(struct written_words *words, const char *bytes, size_t n, uint64_t offset)
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

bool written_words_at_line(struct written_words *words)
{
	bool at;

	pthread_mutex_lock(&words->lock);
	at = !words->inside;
	pthread_mutex_unlock(&words->lock);
	return at;
}

void written_words_end(struct written_words *words, int rc)
{
	pthread_mutex_lock(&words->lock);
	words->failed = rc;
	pthread_mutex_unlock(&words->lock);
}

/* Number of bytes that count now, with the lock held. */
static size_t count_complete(const struct written_words *words, bool all)
{
	const char *end;

	if (all || !words->lines || words->n == 0)
		return words->n;
	end = memrchr(words->text, '\n', words->n);
	return end ? (size_t)(end - words->text) + 1 : 0;
}

char *written_words_take(struct written_words *words, bool all, size_t *n)
{
	char *text = NULL;

	pthread_mutex_lock(&words->lock);
	*n = count_complete(words, all);
	if (!words->failed && *n > words->told)
		text = malloc(*n + 1);
	if (text) {
		memcpy(text, words->text, *n);
		text[*n] = '\0';
	}
	if (text && words->lines) {
		words->n -= *n;
		memmove(words->text, words->text + *n, words->n);
		words->begun = words->n > 0;
	} else if (text) {
		words->told = *n;
	}
	pthread_mutex_unlock(&words->lock);
	return text;
}
