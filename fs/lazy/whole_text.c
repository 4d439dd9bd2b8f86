/* SPDX-License-Identifier: MIT */
/* whole_text.c - see whole_text.h. */
#include "fs/lazy/whole_text.h"
#include "fs/storage/view.h"
#include "fs/util/cond_poll.h"
#include "fs/util/halt.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

struct whole_text {
	struct view_generator generator;
	const struct whole_text_ops *ops;
	void *context;
	const atomic_bool *ending;
	size_t size;
	pthread_mutex_t lock;	/* protects the fields below */
	pthread_cond_t changed; /* is_making became false */
	bool is_making;		/* a thread makes the text, without the lock */
	char *text;		/* NULL: not made yet; immutable afterwards */
};

static int print(const struct whole_text *whole, const struct halt *halt, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	int rc = -ENOMEM;

	if (out) {
		/* No lock is needed for the many small writes: no other thread has the stream. */
		__fsetlocking(out, FSETLOCKING_BYCALLER);
		rc = whole->ops->print(whole->context, halt, out);
	}
	if (out && fclose(out) != 0)
		rc = -ENOMEM;
	if (rc >= 0 && halt && *size != whole->size)
		rc = -EIO;
	if (rc < 0) {
		free(*text);
		*text = NULL;
	}
	return rc;
}

/* Make the text unless it exists. Call with the lock held, which is released meanwhile. */
static int make_text(struct whole_text *whole, const struct halt *halt)
{
	char *text = NULL;
	size_t size;
	int rc;

	while (whole->is_making) {
		if (halted(halt))
			return -EINTR;
		cond_poll_wait(&whole->changed, &whole->lock);
	}
	if (whole->text)
		return 0;
	whole->is_making = true;
	pthread_mutex_unlock(&whole->lock);
	rc = print(whole, halt, &text, &size);
	pthread_mutex_lock(&whole->lock);
	whole->is_making = false;
	whole->text = text;
	pthread_cond_broadcast(&whole->changed);
	return rc;
}

int whole_text_read(struct whole_text *whole, const atomic_bool *stop, char *bytes, size_t length)
{
	const struct halt halt = { stop, whole->ending };
	int rc;

	pthread_mutex_lock(&whole->lock);
	rc = make_text(whole, &halt);
	pthread_mutex_unlock(&whole->lock);
	if (rc == 0 && bytes)
		memcpy(bytes, whole->text, length);
	return rc;
}

static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	(void)first;
	(void)n;
	return whole_text_read((struct whole_text *)generator, stop, NULL, 0);
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	(void)number;
	return whole_text_read((struct whole_text *)generator, stop, bytes, length);
}

void whole_text_free(struct whole_text *whole)
{
	if (whole->ops->release)
		whole->ops->release(whole->context);
	pthread_cond_destroy(&whole->changed);
	pthread_mutex_destroy(&whole->lock);
	free(whole->text);
	free(whole);
}

static void release(struct view_generator *generator)
{
	whole_text_free((struct whole_text *)generator);
}

struct whole_text *whole_text_new(const struct whole_text_ops *ops, void *context,
				  const atomic_bool *ending)
{
	struct whole_text *whole = calloc(1, sizeof(*whole));
	char *text = NULL;
	int rc;

	if (!whole) {
		if (ops->release)
			ops->release(context);
		return NULL;
	}
	whole->generator = (struct view_generator){ prepare, make, release };
	whole->ops = ops;
	whole->context = context;
	whole->ending = ending;
	pthread_mutex_init(&whole->lock, NULL);
	cond_poll_init(&whole->changed);
	rc = print(whole, NULL, &text, &whole->size);
	if (rc < 0) {
		whole_text_free(whole);
		return NULL;
	}
	if (rc == 1)
		whole->text = text;
	else
		free(text);
	return whole;
}

struct view *whole_text_view(struct whole_text *whole)
{
	struct segment all = { .kind = SEGMENT_COMPUTED };
	struct view *view;

	if (!whole)
		return NULL;
	all.length = whole->size;
	if (!whole->text)
		return view_new_computed(&all, 1, NULL, &whole->generator);
	view = view_of_text(whole->text, whole->size);
	whole->text = NULL;
	whole_text_free(whole);
	return view;
}
