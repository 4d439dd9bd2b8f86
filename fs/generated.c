/* SPDX-License-Identifier: MIT */
/* generated.c - see generated.h. */
#include "fs/generated.h"
#include "fs/chart.h"
#include "fs/files.h"
#include "fs/inode.h"
#include "fs/manifest.h"
#include "fs/report.h"
#include "fs/texts.h"
#include "fs/theta.h"

#include <errno.h>
#include <stdlib.h>

struct generated {
	struct model *model;
	struct readings *readings;
	struct assembly *assembly;
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
	static const char *const names[GENERATED_IN_ROOT] = {
		"manifest.json", "model.gguf", "theta.svg", ".theta", ".assemble", ".grafts", ".log"
	};

	return kind < GENERATED_TABLES ? names[kind] : ".theta";
}

struct generated *generated_new(struct model *model, struct readings *readings,
				struct assembly *assembly, struct nodes *nodes)
{
	struct generated *generated = calloc(1, sizeof(*generated));

	if (!generated)
		return NULL;
	generated->model = model;
	generated->readings = readings;
	generated->assembly = assembly;
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

static uint64_t stamp_of(struct generated *generated, enum generated_kind kind)
{
	if (kind == GENERATED_LOG)
		return log_count(generated->model->log);
	if (kind == GENERATED_ASSEMBLE)
		return assembly_stamp(generated->assembly);
	return slots_generation(generated->model->slots);
}

/* Views that cannot be made for want of memory alone. */
static struct view *view_of_readings(struct generated *generated, enum generated_kind kind,
				     const struct snapshot *snapshot, struct error *err)
{
	struct model *model = generated->model;
	struct readings *readings = generated->readings;
	struct figures *figures;
	struct view *view = NULL;

	if (kind >= GENERATED_TABLES) {
		view = theta_table(model, readings, snapshot,
				   (enum organ_class)(kind - GENERATED_TABLES));
	} else {
		figures = figures_new(model, snapshot);
		if (figures)
			view = sheet_view(readings, figures,
					  kind == GENERATED_REPORT ? report_print : chart_print);
	}
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return view;
}

static struct view *view_of_slots(struct generated *generated, enum generated_kind kind,
				  struct error *err)
{
	struct snapshot snapshot;
	struct view *view;

	if (slots_snapshot(generated->model->slots, &snapshot) < 0) {
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return NULL;
	}
	if (kind == GENERATED_MANIFEST)
		view = manifest_view(generated->model, generated->readings, &snapshot, err);
	else if (kind == GENERATED_MODEL)
		view = files_model(generated->model, &snapshot, false, err);
	else if (kind == GENERATED_GRAFTS)
		view = texts_grafts(generated->model, &snapshot, err);
	else
		view = view_of_readings(generated, kind, &snapshot, err);
	snapshot_release(&snapshot);
	return view;
}

static struct view *make_view(struct generated *generated, enum generated_kind kind,
			      struct error *err)
{
	struct view *view;
	size_t size;
	char *text;

	if (kind != GENERATED_LOG && kind != GENERATED_ASSEMBLE)
		return view_of_slots(generated, kind, err);
	text = kind == GENERATED_LOG ? log_text(generated->model->log, &size)
				     : assembly_text(generated->assembly, &size);
	view = view_of_text(text, size);
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return view;
}

/* With the lock held: bring what is kept to the state as it is now. The stamp is taken before the
 * state is looked at, so that a change in between makes the file again. */
static void catch_up(struct generated *generated, enum generated_kind kind)
{
	struct current *current = &generated->current[kind];
	const uint64_t stamp = stamp_of(generated, kind);

	if (current->ino && current->stamp == stamp)
		return;
	nodes_put(generated->nodes, current->node);
	current->node = NULL;
	current->ino = inode_new(generated->model);
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
	struct node made = { .ino = current->ino, .kind = NODE_GENERATED, .index = kind };
	struct node *node;

	made.view = make_view(generated, kind, err);
	if (!made.view)
		return NULL;
	/* Before the first graft these are as old as the base. */
	if (current->stamp == 0 && kind != GENERATED_LOG && kind != GENERATED_ASSEMBLE)
		made.mtime = backing_stat(generated->model->base)->st_mtim;
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
		log_add(generated->model->log, "%s: cannot be made: %s", generated_name(kind),
			err.text);
	}
	return node;
}
