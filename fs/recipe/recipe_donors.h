/* SPDX-License-Identifier: MIT */
/* recipe_donors.h - the files that a recipe needs, found again: by what they are, whatever their
 * names are now. */
#ifndef FS_RECIPE_RECIPE_DONORS_H
#define FS_RECIPE_RECIPE_DONORS_H

#include "fs/base/base.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct recipe;
struct recipe_source;

/* Where to look, all of it borrowed. */
struct recipe_places {
	const char *beside;	     /* the file of the recipe; NULL: not known */
	const char *donors;	     /* directories with ':' between them; NULL: none */
	struct model *const *models; /* of the mount: they are donors too */
	uint32_t n_models;
	dev_t device; /* of the mount, which is not read through the kernel; 0: not known */
	const atomic_bool *stop;	  /* when it becomes true, the search ends; NULL: never */
	struct recipe_ancestry *ancestry; /* where contents are kept */
	/* The model, whose links' rights and time limit what a recipe says of paths is looked at
	 * with first; NULL: it is opened at once. */
	struct model *model;
	uid_t uid;
	gid_t gid;
};

/* A file that was found. */
struct recipe_found {
	struct backing *file;	 /* NULL: it was not; of a split model all of it */
	const struct gguf *gguf; /* NULL: it is an organ file */
	struct base base;	 /* what these are of, unless it is a model of the mount */
	struct backing *alone;
	struct gguf *read;
};

struct recipe_search; /* of one thread */

/* A search for what a recipe needs, which is borrowed. Lists directories, and reads nothing yet.
 * NULL: out of memory. */
struct recipe_search *recipe_search_new(const struct recipe *recipe,
					const struct recipe_places *places);
void recipe_search_free(struct recipe_search *search); /* NULL is fine */

/* Look for one of the recipe's donors, by its fingerprint and, where both are known, its contents.
 * Where it lay comes first, then what has its name. Returns 0, with what was found, perhaps
 * nothing, to be released, or -errno: EINTR, ENOMEM. */
int recipe_find_donor(struct recipe_search *search, const struct recipe_source *donor,
		      struct recipe_found *found);

/* Is there a GGUF where a link with that target in adapters/ would lead, if that user made it?
 * Where it is wanted, both become the caller's. Waits for a limited time, as symlinks.h says. */
bool recipe_probe_gguf(struct model *model, const char *path, uid_t uid, gid_t gid,
		       struct backing **file, struct gguf **gguf);

/* May the file be the one that a recipe means, whose fingerprint it has? gguf is what it holds,
 * NULL: not known. 1 yes, as far as is known, 0 no, or -ENOMEM. */
int recipe_has_contents(struct recipe_ancestry *ancestry, struct backing *file,
			const struct gguf *gguf, const struct recipe_source *source);
void recipe_found_release(struct recipe_found *found);

/* Look for an organ file of size bytes with that XXH128. Returns 0, with the file, to release, or
 * NULL, or -errno: EINTR, ENOMEM. */
int recipe_find_organ(struct recipe_search *search, uint64_t size, const char *hash,
		      struct backing **file);

#endif
