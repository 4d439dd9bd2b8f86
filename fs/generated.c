/* SPDX-License-Identifier: MIT */
/* generated.c - see generated.h. */
#include "fs/generated.h"

#include <errno.h>
#include <stdlib.h>

struct generated {
	struct generator generator;
	struct nodes *nodes;
	struct current {
		pthread_mutex_t lock; /* protects what follows; held while it is made */
		uint64_t stamp;	      /* of the state that what follows is for */
		uint64_t ino;	      /* 0: nobody has looked yet */
		struct node *node;    /* NULL: only its number was asked for */
	} current[GENERATED_KINDS];
};

const char *generated_name(enum generated_kind kind)
{
	static const char *const names[GENERATED_TABLES] = {
		"manifest.json", "model.gguf",	    "theta.svg", "checksums.xxh128", ".theta",
		".table",	 ".assemble",	    ".grafts",	 ".check",	     ".undo",
		".log",		 "gguf-hash.xxh64", "theta.svg"
	};

	return kind < GENERATED_TABLES ? names[kind] : ".theta";
}

struct generated *generated_new(const struct generator *generator, struct nodes *nodes)
{
	struct generated *generated = calloc(1, sizeof(*generated));

	if (!generated)
		return NULL;
	generated->generator = *generator;
	generated->nodes = nodes;
	for (enum generated_kind kind = 0; kind < GENERATED_KINDS; kind++)
		pthread_mutex_init(&generated->current[kind].lock, NULL);
	return generated;
}

void generated_free(struct generated *generated)
{
	if (!generated)
		return;
	for (enum generated_kind kind = 0; kind < GENERATED_KINDS; kind++) {
		nodes_put(generated->nodes, generated->current[kind].node);
		pthread_mutex_destroy(&generated->current[kind].lock);
	}
	free(generated);
}

/* With the lock held: bring what is kept to the state as it is now. The stamp is taken before the
 * state is looked at, so that a change in between makes the file again. */
static void catch_up(struct generated *generated, enum generated_kind kind)
{
	struct current *current = &generated->current[kind];
	const struct generator *generator = &generated->generator;
	const uint64_t stamp = generator->stamp(generator->context, kind);

	if (current->ino && current->stamp == stamp)
		return;
	nodes_put(generated->nodes, current->node);
	current->node = NULL;
	current->ino = nodes_new_ino(generated->nodes, generator->model);
	current->stamp = stamp;
}

uint64_t generated_ino(struct generated *generated, enum generated_kind kind)
{
	struct current *current = &generated->current[kind];
	uint64_t ino;

	pthread_mutex_lock(&current->lock);
	catch_up(generated, kind);
	ino = current->ino;
	pthread_mutex_unlock(&current->lock);
	return ino;
}

static struct node *make_node(struct generated *generated, enum generated_kind kind,
			      struct error *err)
{
	const struct current *current = &generated->current[kind];
	const struct generator *generator = &generated->generator;
	struct node made = { .ino = current->ino,
			     .kind = NODE_GENERATED,
			     .index = kind,
			     .model = generator->model };
	struct node *node;

	made.view = generator->view(generator->context, kind, err);
	if (!made.view)
		return NULL;
	/* Before the first graft these are as old as the base. */
	if (current->stamp == 0 && kind != GENERATED_LOG && kind != GENERATED_ASSEMBLE)
		made.mtime = generator->mtime;
	else
		clock_gettime(CLOCK_REALTIME, &made.mtime);
	node = nodes_add(generated->nodes, &made);
	if (!node)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return node;
}

struct node *generated_node(struct generated *generated, enum generated_kind kind, int *rc)
{
	struct current *current = &generated->current[kind];
	struct error err = { 0 };
	struct node *node = NULL;

	pthread_mutex_lock(&current->lock);
	catch_up(generated, kind);
	if (!current->node)
		current->node = make_node(generated, kind, &err);
	if (current->node)
		node = nodes_get(generated->nodes, current->ino);
	pthread_mutex_unlock(&current->lock);
	if (!node) {
		*rc = -err.code;
		log_add(generated->generator.log, "%s: cannot be made: %s", generated_name(kind),
			err.text);
	}
	return node;
}
