/* SPDX-License-Identifier: MIT */
/* recipe_donors.h - search for the files that a recipe needs, by fingerprint and contents, under
 * any name. */
#ifndef FS_RECIPE_RECIPE_DONORS_H
#define FS_RECIPE_RECIPE_DONORS_H

#include "fs/base/base.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct recipe;
struct recipe_source;

/* Places to search; all pointers are borrowed. */
struct recipe_places {
	const char *beside;	     /* file of the recipe; NULL: not known */
	const char *donors;	     /* directories separated by ':'; NULL: none */
	struct model *const *models; /* of the mount, which may be donors */
	uint32_t n_models;
	dev_t device; /* of the mount, which is not read through the kernel; 0: not known */
	const atomic_bool *stop;	  /* end the search when it becomes true; NULL: never */
	struct recipe_ancestry *ancestry; /* cache of contents */
	/* Model with whose links' rights and timeout paths in the recipe are probed first; NULL:
	 * open them at once. */
	struct model *model;
	uid_t uid;
	gid_t gid;
};

/* A file that was found. file and gguf are a mounted model's, or owned by the fields below them. */
struct recipe_found {
	struct backing *file;	 /* NULL: not found; of a split model the whole */
	const struct gguf *gguf; /* NULL: an organ file */
	struct base base;	 /* the whole model, unless it is mounted or alone */
	struct backing *alone;
	struct gguf *read;
};

struct recipe_search; /* used by one thread */

/* New search for the files of a recipe, which is borrowed. Lists directories, reads no file yet.
 * NULL: out of memory. */
struct recipe_search *recipe_search_new(const struct recipe *recipe,
					const struct recipe_places *places);
void recipe_search_free(struct recipe_search *search); /* NULL is fine */

/* Find a donor of the recipe by its fingerprint and, if both are known, its contents: first at its
 * last known path, then by name. Returns 0 with found, perhaps empty, to be released, or -errno:
 * EINTR, ENOMEM. */
int recipe_find_donor(struct recipe_search *search, const struct recipe_source *donor,
		      struct recipe_found *found);

/* Does path, as the target of a link in adapters/ made by that user, lead to a GGUF? file not NULL:
 * file and gguf become the caller's. Waits for a limited time, as symlinks.h says. */
bool recipe_probe_gguf(struct model *model, const char *path, uid_t uid, gid_t gid,
		       struct backing **file, struct gguf **gguf);

/* May file, whose fingerprint equals the source's, be the source? Compares contents. gguf: the
 * parsed file; NULL: parse it. 1 yes, or as far as known, 0 no, or -ENOMEM. */
int recipe_has_contents(struct recipe_ancestry *ancestry, struct backing *file,
			const struct gguf *gguf, const struct recipe_source *source);
void recipe_found_release(struct recipe_found *found);

/* Find an organ file of size bytes with that XXH128. Returns 0 with the file, to release, or NULL;
 * or -errno: EINTR, ENOMEM. */
int recipe_find_organ(struct recipe_search *search, uint64_t size, const char *hash,
		      struct backing **file);

#endif
