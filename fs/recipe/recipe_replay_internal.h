/* SPDX-License-Identifier: MIT */
/* recipe_replay_internal.h - a recipe being applied; shared by recipe_replay.c, recipe_plan.c,
 * recipe_stage.c and recipe_apply.c. */
#ifndef FS_RECIPE_RECIPE_REPLAY_INTERNAL_H
#define FS_RECIPE_RECIPE_REPLAY_INTERNAL_H

#include "fs/edit/graft.h"
#include "fs/edit/undo.h"
#include "fs/recipe/recipe.h"
#include "gguf/error.h"
#include "gguf/organ.h"

struct view;

struct recipe_plan_graft {
	struct graft_place place; /* texts of the recipe or of this plan */
	char name[ANATOMY_NAME_MAX + 1];
	enum recipe_how how;  /* a link may have become a reference */
	bool lacks;	      /* its donor, without which the graft is impossible */
	struct backing *file; /* file of the organ's data, referenced */
	struct organ organ;   /* name borrowed from the file found */
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
	struct recipe_found *found;	  /* by number of donor; [0] is unused */
	struct recipe_plan_graft *grafts; /* one per graft of the recipe */
	const char **targets;		  /* one per adapter, NULL for settings; borrowed */
	bool *lacking;			  /* one per adapter: its donor is missing */
	uint32_t missing;
	bool merged;		  /* the recipe's merge is in force */
	bool stays;		  /* the recipe failed and cannot be taken back */
	struct undo_list list;	  /* changes of the recipe, to undo in memory */
	struct undo_ready *ready; /* NULL: no change was begun */
	struct error err;
};

/* Write a line to the log, and to stderr if the request asks for it. */
void recipe_say(const struct recipe_replay *replay, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Find the donor's tensor of a graft, and its file. NULL: none. */
const struct gguf_tensor *recipe_find_tensor(const struct recipe_replay *replay,
					     const struct recipe_graft *graft,
					     struct backing **file);

/* graft_check() of the organ in the plan's slot; the error names the slot. */
int recipe_check_organ(struct recipe_replay *replay, const struct recipe_plan_graft *plan,
		       const struct organ *organ);

/* Parse CLASS/NAME: returns NAME, borrowed, and sets the class. NULL with the replay's err set: no
 * slot's name. */
const char *recipe_slot_name(struct recipe_replay *replay, const struct recipe_text *slot,
			     enum organ_class *klass);

/* Has the organ file in the view the recipe's size and hash? 1, 0 (also if it cannot be read) or
 * -errno. */
int recipe_is_organ(const struct recipe_replay *replay, const struct recipe_graft *graft,
		    struct view *view);

/* Search for the donors. Returns 0 or -errno. */
int recipe_find_donors(struct recipe_replay *replay);

/* Find and check all other inputs but the bytes of copies. Returns 0, or -errno with err set. */
int recipe_plan(struct recipe_replay *replay);

/* Put the bytes of every copy, checked by the recipe's hash, into a stage, and check the hashes of
 * references. Counts and logs all missing inputs, also those of recipe_plan(). Returns 0, or -errno
 * with err set. */
int recipe_stage(struct recipe_replay *replay);

/* Make the changes. Returns 0, or -errno with a line in the log; some changes may be made then. */
int recipe_apply(struct recipe_replay *replay);

/* Add all changes of recipe_apply() to list. */
void recipe_list(const struct recipe_replay *replay, struct undo_list *list);

#endif
