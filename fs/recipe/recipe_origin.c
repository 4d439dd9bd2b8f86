/* SPDX-License-Identifier: MIT */
/* recipe_origin.c - see recipe_origin.h. */
#include "fs/recipe/recipe_origin.h"
#include "fs/base/donor.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/storage/backing.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int set(struct recipe_text *text, const char *words)
{
	return recipe_text_set(text, words, strlen(words));
}

int recipe_origin_name(struct recipe_text *name, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *decoded;
	int rc;

	if (!url_is_remote(path) && !url_is_store(path))
		return set(name, slash ? slash + 1 : path);
	decoded = url_is_store(path) ? paths_stem(path) : url_file_name(path);
	rc = decoded ? set(name, decoded) : -ENOMEM;
	free(decoded);
	return rc;
}

/* The base is identified by its file: models made of the base have its fingerprint too. */
static bool is_base(const struct recipe_origin *of, const struct recipe *recipe,
		    const struct backing *base)
{
	if (strcmp(of->fingerprint, recipe->base.fingerprint) != 0)
		return false;
	return of->file == base ||
	       (of->file ? paths_same_file(backing_stat(of->file), backing_stat(base))
			 : strcmp(of->path, backing_path(base)) == 0);
}

/* Find the donor of the recipe that is the same file: by the hash of the contents if both are
 * known, else by the path. */
static bool find_donor(const struct recipe *recipe, const struct recipe_origin *of,
		       const char *contents, uint32_t *number)
{
	for (*number = 1; *number <= recipe->n_donors; ++*number) {
		const struct recipe_source *donor = &recipe->donors[*number - 1];

		if (strcmp(donor->fingerprint, of->fingerprint) != 0)
			continue;
		if (contents[0] && donor->contents[0]
			    ? strcmp(contents, donor->contents) == 0
			    : strcmp(of->path, donor->path.bytes ? donor->path.bytes
								 : donor->name.bytes) == 0)
			return true;
	}
	return false;
}

static int add_donor(const struct recipe_origin *of, uint64_t size, const char *contents,
		     struct recipe *recipe, struct recipe_ancestry *ancestry)
{
	struct recipe_source *added = recipe_add_donor(recipe);

	/* A name without a slash, unless it is one in a store, does not say where the file is. */
	if (!added || recipe_origin_name(&added->name, of->path) < 0 ||
	    ((strchr(of->path, '/') || url_is_store(of->path)) && set(&added->path, of->path) < 0))
		return -ENOMEM;
	added->size = size;
	memcpy(added->fingerprint, of->fingerprint, FINGERPRINT_TEXT);
	memcpy(added->contents, contents, FINGERPRINT_TEXT);
	return recipe_ancestry_fill(ancestry, added, NULL, NULL, of->donor);
}

int recipe_origin_donor(const struct recipe_origin *of, const struct backing *base,
			struct recipe *recipe, struct recipe_ancestry *ancestry, uint32_t *number)
{
	char contents[FINGERPRINT_TEXT] = "";
	struct backing *file = NULL;
	struct error err;
	int rc = 0;

	*number = RECIPE_BASE;
	if (is_base(of, recipe, base) || (!of->file && find_donor(recipe, of, "", number)))
		return 0;
	if (of->file)
		file = backing_ref(of->file);
	else if (of->donor)
		file = donor_open(of->donor, &err);
	if (file)
		rc = recipe_ancestry_contents(ancestry, file, NULL, contents);
	if (rc == 0 && !find_donor(recipe, of, contents, number))
		rc = add_donor(of, file ? backing_size(file) : 0, contents, recipe, ancestry);
	backing_unref(file);
	return rc;
}
