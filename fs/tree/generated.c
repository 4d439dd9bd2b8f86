/* SPDX-License-Identifier: MIT */
/* generated.c - see generated.h. */
#include "fs/tree/generated.h"
#include "fs/model/inode.h"
#include "fs/tree/inodes.h"
#include "fs/util/log.h"
#include "gguf/error.h"
#include "gguf/gather.h"

#include <errno.h>
#include <stdlib.h>

struct generated {
	struct generator generator;
	struct inodes *inodes;
	struct current {
		pthread_mutex_t making; /* held while the file is made, which may take long */
		pthread_mutex_t lock;	/* protects the fields below; taken after making */
		uint64_t stamp;		/* state of the fields below */
		uint64_t ino;		/* 0: not requested yet */
		struct inode *inode;	/* NULL: not made yet */
	} current[GENERATED_KINDS];
};

const char *generated_name(enum generated_kind kind)
{
	static const char *const names[GENERATED_CLASS_THETA] = {
		"manifest.json", "model.gguf",	    HEADER_FILE, "theta.svg", "checksums.xxh128",
		".theta",	 ".report.json",    ".table",	 ".assemble", ".grafts",
		".check",	 ".undo",	    ".log",	 ".recipe",   ".types",
		".merge",	 "gguf-hash.xxh64", "theta.svg", "order"
	};

	if (kind >= GENERATED_LOSSES)
		return "loss.tsv";
	return kind < GENERATED_CLASS_THETA ? names[kind] : ".theta";
}

struct generated *generated_new(const struct generator *generator, struct inodes *inodes)
{
	struct generated *generated = calloc(1, sizeof(*generated));

	if (!generated)
		return NULL;
	generated->generator = *generator;
	generated->inodes = inodes;
	for (enum generated_kind kind = 0; kind < GENERATED_KINDS; kind++) {
		pthread_mutex_init(&generated->current[kind].making, NULL);
		pthread_mutex_init(&generated->current[kind].lock, NULL);
	}
	return generated;
}

void generated_free(struct generated *generated)
{
	if (!generated)
		return;
	for (enum generated_kind kind = 0; kind < GENERATED_KINDS; kind++) {
		inodes_put(generated->inodes, generated->current[kind].inode);
		pthread_mutex_destroy(&generated->current[kind].lock);
		pthread_mutex_destroy(&generated->current[kind].making);
	}
	free(generated);
}

_Static_assert(GENERATED_KINDS <= INODE_FIRST, "each has a number");

static uint64_t first_ino(const struct model *model, enum generated_kind kind)
{
	return INODE_NEW | (uint64_t)(model ? model->number : INODE_MODELS) << 44 | kind;
}

/* Modification time. A class's table has the common time of the organs, if there is one, so that a
 * class copied with its times compares equal. Before the first graft all files are as old as the
 * organs. Other files have the current time. */
static struct timespec time_of(const struct generated *generated, enum generated_kind kind,
			       uint64_t stamp)
{
	const struct generator *generator = &generated->generator;
	struct timespec time;

	if (stamp == 0 && kind != GENERATED_LOG && kind != GENERATED_ASSEMBLE)
		return generator->model ? model_time(generator->model) : generator->mtime;
	if (kind < GENERATED_CLASS_THETA || kind >= GENERATED_LOSSES ||
	    !model_class_time(generator->model, (enum organ_class)(kind - GENERATED_CLASS_THETA),
			      &time))
		clock_gettime(CLOCK_REALTIME, &time);
	return time;
}

/* Discard the kept file if the state has changed, with the lock held. Takes the stamp before the
 * state is read, so that a change in between makes the file again. */
static void catch_up(struct generated *generated, enum generated_kind kind)
{
	struct current *current = &generated->current[kind];
	const struct generator *generator = &generated->generator;
	const uint64_t stamp = generator->stamp(generator->context, kind);

	if (current->ino && current->stamp == stamp)
		return;
	inodes_put(generated->inodes, current->inode);
	current->inode = NULL;
	/* Files of the unchanged base have the same numbers at every mount. */
	current->ino = stamp ? inodes_new_ino(generated->inodes, generator->model)
			     : first_ino(generator->model, kind);
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

bool generated_may_block(struct generated *generated, enum generated_kind kind)
{
	struct current *current = &generated->current[kind];
	bool made;

	if (kind == GENERATED_LOG || kind == GENERATED_GRAFTS || kind == GENERATED_ASSEMBLE)
		return false;
	pthread_mutex_lock(&current->lock);
	catch_up(generated, kind);
	made = current->inode != NULL;
	pthread_mutex_unlock(&current->lock);
	return !made;
}

static enum family_number generated_family(enum generated_kind kind)
{
	static const enum family_number of_their_own[GENERATED_KINDS] = {
		[GENERATED_MODEL] = FAMILY_MODEL_FILE,
		[GENERATED_ASSEMBLE] = FAMILY_ASSEMBLE,
		[GENERATED_UNDO] = FAMILY_UNDO,
		[GENERATED_RECIPE] = FAMILY_RECIPE,
		[GENERATED_TYPES] = FAMILY_TYPES_LIST,
		[GENERATED_MERGE] = FAMILY_MERGE,
		[GENERATED_LOG] = FAMILY_LOG,
		[GENERATED_GRAFTS] = FAMILY_GRAFTS,
		[GENERATED_ORDER] = FAMILY_ORDER,
		[GENERATED_GGUF_HASH] = FAMILY_GENERATED_FIXED,
		[GENERATED_BASE_PICTURE] = FAMILY_GENERATED_FIXED,
		[GENERATED_LOSSES... GENERATED_KINDS - 1] = FAMILY_GENERATED_FIXED,
	};

	return of_their_own[kind] ? of_their_own[kind] : FAMILY_GENERATED;
}

/* New file for the state with that stamp, under that number. */
static struct inode *make_inode(struct generated *generated, enum generated_kind kind, uint64_t ino,
				uint64_t stamp, struct error *err)
{
	const struct generator *generator = &generated->generator;
	struct inode made = { .ino = ino,
			      .family = generated_family(kind),
			      .index = kind,
			      .model = generator->model };
	struct inode *inode = NULL;

	made.view = generator->view(generator->context, kind, err);
	if (made.view) {
		made.mtime = time_of(generated, kind, stamp);
		inode = inodes_add(generated->inodes, &made);
	}
	/* A view may come with an error set, for a model whose blocks have gaps. */
	if (!inode && (made.view || !err->code))
		error_errno(err, ENOMEM);
	return inode;
}

/* File of the current state, if it was made; else sets its number and stamp. */
static struct inode *find_made(struct generated *generated, enum generated_kind kind, uint64_t *ino,
			       uint64_t *stamp)
{
	struct current *current = &generated->current[kind];
	struct inode *inode = NULL;

	pthread_mutex_lock(&current->lock);
	catch_up(generated, kind);
	*ino = current->ino;
	*stamp = current->stamp;
	if (current->inode)
		inode = inodes_get(generated->inodes, current->ino);
	pthread_mutex_unlock(&current->lock);
	return inode;
}

/* Make the current file, with making held. If the state changes meanwhile, the caller gets the
 * former state. */
static struct inode *make_current(struct generated *generated, enum generated_kind kind,
				  struct error *err)
{
	struct current *current = &generated->current[kind];
	uint64_t ino, stamp;
	struct inode *inode = find_made(generated, kind, &ino, &stamp), *kept;

	if (inode)
		return inode;
	kept = make_inode(generated, kind, ino, stamp, err);
	if (!kept)
		return NULL;
	inode = inodes_get(generated->inodes, ino);
	pthread_mutex_lock(&current->lock);
	if (current->ino == ino) {
		current->inode = kept;
		kept = NULL;
	}
	pthread_mutex_unlock(&current->lock);
	inodes_put(generated->inodes, kept);
	return inode;
}

struct inode *generated_inode(struct generated *generated, enum generated_kind kind, int *rc)
{
	struct current *current = &generated->current[kind];
	struct error err = { 0 };
	uint64_t ino, stamp;
	struct inode *inode = find_made(generated, kind, &ino, &stamp);

	if (inode)
		return inode;
	pthread_mutex_lock(&current->making);
	inode = make_current(generated, kind, &err);
	pthread_mutex_unlock(&current->making);
	if (!inode) {
		*rc = -err.code;
		log_add(generated->generator.log, "%s: cannot be made: %s", generated_name(kind),
			err.text);
	}
	return inode;
}
