/* SPDX-License-Identifier: MIT */
/* recipe_replay_internal.h - what recipe_replay.c, recipe_plan.c, recipe_stage.c and recipe_apply.c
 * share: a recipe on its way into a model. */
#ifndef FS_RECIPE_RECIPE_REPLAY_INTERNAL_H
#define FS_RECIPE_RECIPE_REPLAY_INTERNAL_H

#include "fs/edit/graft.h"
#include "fs/edit/undo.h"
#include "fs/recipe/recipe.h"
#include "gguf/error.h"
#include "gguf/organ.h"

struct view;

/* What is to fill a slot. */
struct recipe_plan_graft {
	struct graft_place place; /* its texts are the recipe's, or the plan's */
	char name[ANATOMY_NAME_MAX + 1];
	enum recipe_how how;  /* RECIPE_LINK may have become a reference */
	bool lacks;	      /* its donor, without which it cannot be */
	struct backing *file; /* with a reference to it: where the organ's data lie */
	struct organ organ;   /* its name is borrowed from what was found */
	uint64_t offset;
	const char *target;  /* of a link */
	struct stage *stage; /* of a copy */
	struct donor *donor;
};

struct recipe_replay {
	struct model *model;
	const struct recipe_request *request;
	struct recipe recipe;
	struct recipe_search *search;
	struct recipe_found *found;	  /* by the number of a donor; [0] is not used */
	struct recipe_plan_graft *grafts; /* as many as in the recipe */
	const char **targets; /* of the recipe's adapters, where these are links; borrowed */
	bool *lacking;	      /* of these, their donors */
	uint32_t missing;
	bool merged;		  /* its merge is in force */
	bool stays;		  /* it failed, and cannot be taken back */
	struct undo_list list;	  /* of its changes, to take back in memory */
	struct undo_ready *ready; /* NULL: none was begun */
	struct error err;
};

/* A line in the log, and on stderr if that was asked for. */
void recipe_say(const struct recipe_replay *replay, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The tensor that a graft is from, and the file that it is in. NULL: there is none. */
const struct gguf_tensor *recipe_find_tensor(const struct recipe_replay *replay,
					     const struct recipe_graft *graft,
					     struct backing **file);

/* The name of the slot CLASS/NAME, borrowed, with its class. NULL with the replay's err set: that
 * can be no slot. */
const char *recipe_slot_name(struct recipe_replay *replay, const struct recipe_text *slot,
			     enum organ_class *klass);

/* Has the organ file in the view the size and the hash that the recipe says? What cannot be read
 * has not. 1, 0 or -errno. */
int recipe_is_organ(const struct recipe_replay *replay, const struct recipe_graft *graft,
		    struct view *view);

/* Look for the donors. Returns 0 or -errno. */
int recipe_find_donors(struct recipe_replay *replay);

/* Find and check all else that the recipe needs but the bytes of copies. Returns 0, or -errno with
 * err set. */
int recipe_plan(struct recipe_replay *replay);

/* Have the bytes of every copy in a stage, with the hash that the recipe says; references lead to
 * such bytes, where it says one. The same; what is missing, of that and before, is counted and
 * said. */
int recipe_stage(struct recipe_replay *replay);

/* Make the changes. Returns 0 or -errno, with a line in the log, when some may be made. */
int recipe_apply(struct recipe_replay *replay);

/* All that recipe_apply() changes, into the list. */
void recipe_list(const struct recipe_replay *replay, struct undo_list *list);

#endif
