/* SPDX-License-Identifier: MIT */
/* recipe_donors.c - see recipe_donors.h. Directories are listed once, and each file is read at most
 * once for all donors. */
#include "fs/recipe/recipe_donors.h"
#include "fs/base/model_name.h"
#include "fs/base/shards.h"
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/edit/symlinks.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/storage/view_hash.h"
#include "fs/util/array_grown.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Further files in the directories are skipped. */
#define CANDIDATES_MAX 65536u

/* A file that may be searched for. */
struct candidate {
	char *path;
	uint64_t size;
	bool printed, hashed; /* print and whole, or hash, are computed; "" if impossible */
	char print[FINGERPRINT_TEXT];
	char whole[FINGERPRINT_TEXT]; /* of the split model with this shard */
	char hash[FINGERPRINT_TEXT];
};

struct recipe_search {
	struct recipe_places places;
	struct candidate *all;
	size_t n, room;
};

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_stopped(const struct recipe_search *search)
{
	return search->places.stop && atomic_load(search->places.stop);
}

/* Add a candidate. Skips devices and pipes, and this mount, which must not be read through the
 * kernel. Returns 0 or -ENOMEM. */
static int add_file(struct recipe_search *search, const char *path)
{
	struct candidate *more;
	struct stat stat_of;

	if (path[0] != '/' || search->n == CANDIDATES_MAX || stat(path, &stat_of) < 0 ||
	    !S_ISREG(stat_of.st_mode) ||
	    (search->places.device && stat_of.st_dev == search->places.device))
		return 0;
	more = array_grown(search->all, search->n, &search->room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	search->all = more;
	more[search->n] =
		(struct candidate){ .path = strdup(path), .size = (uint64_t)stat_of.st_size };
	return more[search->n].path ? (search->n++, 0) : -ENOMEM;
}

static int add_directory(struct recipe_search *search, const char *path)
{
	DIR *entries = opendir(path);
	const struct dirent *entry;
	char *file;
	int rc = 0;

	if (!entries)
		return 0;
	while (rc == 0 && (entry = readdir(entries))) {
		if (entry->d_type != DT_REG && entry->d_type != DT_LNK &&
		    entry->d_type != DT_UNKNOWN)
			continue;
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0) {
			rc = -ENOMEM;
			break;
		}
		rc = add_file(search, file);
		free(file);
	}
	closedir(entries);
	return rc;
}

static bool is_inside(const struct recipe_search *search, const char *path)
{
	struct stat stat_of;

	return search->places.device && stat(path, &stat_of) == 0 &&
	       stat_of.st_dev == search->places.device;
}

static int add_directory_at(struct recipe_search *search, const char *path)
{
	char *real = realpath(path, NULL);
	const int rc = real && !is_inside(search, real) ? add_directory(search, real) : 0;

	free(real);
	return rc;
}

static int add_listed(struct recipe_search *search, const char *list)
{
	char *copy = strdup(list), *rest = copy, *path;
	int rc = copy ? 0 : -ENOMEM;

	while (rc == 0 && (path = strsep(&rest, ":")))
		if (*path)
			rc = add_directory_at(search, path);
	free(copy);
	return rc;
}

bool recipe_probe_gguf(struct model *model, const char *path, uid_t uid, gid_t gid,
		       struct backing **file, struct gguf **gguf)
{
	struct backing *found = NULL;
	struct gguf *parsed = NULL;
	struct error err;
	const bool is = symlinks_gguf(model, path, uid, gid, false, &found, &parsed, &err) == 0;

	if (is && file) {
		*file = found;
		*gguf = parsed;
		return true;
	}
	gguf_free(parsed);
	backing_unref(found);
	return is;
}

/* Does a path in the recipe lead to a model or organ file outside this mount? A thread that may
 * block for ever probes the path: in an old recipe it may lead to a dead server. */
static bool answers(const struct recipe_search *search, const char *path)
{
	const struct recipe_places *places = &search->places;
	struct content *content;
	struct error err;
	bool is;

	if (!places->model)
		return true;
	if (recipe_probe_gguf(places->model, path, places->uid, places->gid, NULL, NULL))
		return true;
	content = symlinks_content(places->model->links, places->model, CLASS_OTHER, path,
				   places->uid, places->gid, NULL, &err);
	is = content && content->seen && !content->broken;
	content_unref(content);
	return is;
}

/* Add the candidate at a path in the recipe, which may be a name in a store; path NULL: none. */
static int add_recorded(struct recipe_search *search, const char *path)
{
	char *stored = NULL;
	struct error err;
	int rc = 0;

	if (path && url_is_store(path) && model_name_find(path, &stored, &err) == 0)
		path = stored;
	if (path && path[0] == '/' && !is_stopped(search) && answers(search, path))
		rc = add_file(search, path);
	free(stored);
	return rc;
}

/* Add all candidates: last known paths first, then the recipe's directory, then the directories of
 * donors. */
static int add_all(struct recipe_search *search, const struct recipe *recipe)
{
	const struct recipe_places *places = &search->places;
	char *directory;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < recipe->n_donors; i++)
		rc = add_recorded(search, recipe->donors[i].path.bytes);
	for (size_t i = 0; rc == 0 && i < recipe->n_grafts; i++)
		if (recipe->grafts[i].how == RECIPE_COPY)
			rc = add_recorded(search, recipe->grafts[i].target.bytes);
	if (rc == 0 && places->beside) {
		directory = paths_directory(places->beside);
		rc = directory ? add_directory_at(search, directory) : 0;
		free(directory);
	}
	return rc == 0 && places->donors ? add_listed(search, places->donors) : rc;
}

struct recipe_search *recipe_search_new(const struct recipe *recipe,
					const struct recipe_places *places)
{
	struct recipe_search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->places = *places;
	if (add_all(search, recipe) == 0)
		return search;
	recipe_search_free(search);
	return NULL;
}

void recipe_search_free(struct recipe_search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->n; i++)
		free(search->all[i].path);
	free(search->all);
	free(search);
}

void recipe_found_release(struct recipe_found *found)
{
	base_close(&found->base);
	gguf_free(found->read);
	backing_unref(found->alone);
	*found = (struct recipe_found){ 0 };
}

/* Open one file, a GGUF (also a shard) or an organ file, and compute its fingerprint. Returns false
 * for any other file. */
static bool open_alone(const char *path, struct recipe_found *found, char print[FINGERPRINT_TEXT])
{
	struct error err;
	struct organ organ = { 0 };
	struct source source;
	bool is = false;

	found->alone = backing_open(path, &err);
	if (!found->alone)
		return false;
	source = backing_source(found->alone);
	found->read = gguf_read(&source, NULL);
	if (found->read) {
		is = fingerprint(found->alone, found->read, print) == 0;
	} else if (organ_parse(&source, &organ, &err) == 0) {
		is = fingerprint_file(found->alone, organ.header_size, backing_size(found->alone),
				      print) == 0;
		free((char *)organ.name);
	}
	found->gguf = found->read;
	found->file = found->alone;
	return is;
}

/* Open the whole split model that has the file as a shard. */
static bool open_whole(const char *path, struct recipe_found *found, char print[FINGERPRINT_TEXT])
{
	struct error err;

	if (paths_shard_prefix(name_of(path)) == 0 || base_open(&found->base, path, &err) < 0 ||
	    !found->base.shards || !shards_are_complete(found->base.shards) ||
	    fingerprint(found->base.file, found->base.gguf, print) < 0)
		return false;
	found->gguf = found->base.gguf;
	found->file = found->base.file;
	return true;
}

/* Find another shard of the same model, whose whole was read. NULL: none. */
static const struct candidate *find_sibling(const struct recipe_search *search, const char *path)
{
	const size_t n = (size_t)(name_of(path) - path) + paths_shard_prefix(name_of(path));

	for (size_t i = 0; i < search->n && n > (size_t)(name_of(path) - path); i++) {
		const struct candidate *one = &search->all[i];

		if (one->whole[0] && strlen(one->path) == strlen(path) &&
		    strncmp(one->path, path, n) == 0 &&
		    strcmp(one->path + n + strlen("-00000"), path + n + strlen("-00000")) == 0)
			return one;
	}
	return NULL;
}

static void print_candidate(const struct recipe_search *search, struct candidate *candidate)
{
	const struct candidate *sibling = find_sibling(search, candidate->path);
	struct recipe_found found = { 0 };

	candidate->printed = true;
	if (!open_alone(candidate->path, &found, candidate->print))
		candidate->print[0] = '\0';
	recipe_found_release(&found);
	if (sibling)
		memcpy(candidate->whole, sibling->whole, FINGERPRINT_TEXT);
	else if (!open_whole(candidate->path, &found, candidate->whole))
		candidate->whole[0] = '\0';
	recipe_found_release(&found);
}

/* Open a candidate and check its fingerprint, because the file may have changed since it was
 * computed. */
static bool open_candidate(const struct candidate *candidate, const char *wanted,
			   struct recipe_found *found)
{
	char print[FINGERPRINT_TEXT] = "";

	if (strcmp(candidate->print, wanted) == 0)
		open_alone(candidate->path, found, print);
	else
		open_whole(candidate->path, found, print);
	if (found->file && strcmp(print, wanted) == 0)
		return true;
	recipe_found_release(found);
	return false;
}

int recipe_has_contents(struct recipe_ancestry *ancestry, struct backing *file,
			const struct gguf *gguf, const struct recipe_source *source)
{
	char contents[FINGERPRINT_TEXT];
	int rc;

	if (!source->contents[0])
		return 1;
	rc = recipe_ancestry_contents(ancestry, file, gguf, contents);
	return rc < 0 ? rc : !contents[0] || strcmp(contents, source->contents) == 0;
}

static int try_candidate(struct recipe_search *search, struct candidate *candidate,
			 const struct recipe_source *donor, struct recipe_found *found)
{
	const char *print = donor->fingerprint;
	int rc;

	if (!candidate->printed)
		print_candidate(search, candidate);
	if ((strcmp(candidate->print, print) != 0 && strcmp(candidate->whole, print) != 0) ||
	    !open_candidate(candidate, print, found))
		return 0;
	rc = recipe_has_contents(search->places.ancestry, found->file, found->gguf, donor);
	if (rc != 1)
		recipe_found_release(found);
	return rc;
}

static int try_mounted(struct recipe_search *search, struct model *model,
		       const struct recipe_source *donor, struct recipe_found *found)
{
	bool is;
	int rc;

	journal_begin(model);
	is = strcmp(model_fingerprint(model), donor->fingerprint) == 0;
	journal_end(model);
	if (!is)
		return 0;
	found->file = model->base;
	found->gguf = model->gguf;
	rc = recipe_has_contents(search->places.ancestry, found->file, found->gguf, donor);
	if (rc != 1)
		*found = (struct recipe_found){ 0 };
	return rc;
}

/* Order of trying candidates: last known path, then same name, then same size, because most files
 * still have theirs; an unknown size is 0. */
enum nearness { NEAR_PATH, NEAR_NAME, NEAR_SIZE, NEAR_NOTHING, NEARNESSES };

static enum nearness nearness(const char *path, uint64_t size, const struct recipe_source *donor)
{
	if (donor->path.bytes && strcmp(path, donor->path.bytes) == 0)
		return NEAR_PATH;
	if (strcmp(name_of(path), donor->name.bytes) == 0)
		return NEAR_NAME;
	return size == donor->size ? NEAR_SIZE : NEAR_NOTHING;
}

static int try_all(struct recipe_search *search, enum nearness near,
		   const struct recipe_source *donor, struct recipe_found *found)
{
	const struct recipe_places *places = &search->places;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < places->n_models; i++) {
		struct model *model = places->models[i];

		if (model->whole &&
		    nearness(backing_path(model->base), backing_size(model->base), donor) == near)
			rc = try_mounted(search, model, donor, found);
	}
	for (size_t i = 0; rc == 0 && i < search->n; i++) {
		struct candidate *candidate = &search->all[i];

		if (is_stopped(search))
			return -EINTR;
		if (nearness(candidate->path, candidate->size, donor) == near)
			rc = try_candidate(search, candidate, donor, found);
	}
	return rc;
}

int recipe_find_donor(struct recipe_search *search, const struct recipe_source *donor,
		      struct recipe_found *found)
{
	int rc = 0;

	*found = (struct recipe_found){ 0 };
	for (enum nearness near = 0; rc == 0 && near < NEARNESSES; near++)
		rc = try_all(search, near, donor, found);
	return rc < 0 ? rc : 0;
}

/* Set *file to the candidate, if it has that hash. */
static int try_organ(struct recipe_search *search, struct candidate *candidate, const char *hash,
		     struct backing **file)
{
	const struct segment all = { .kind = SEGMENT_EXTENT, .length = candidate->size };
	struct segment segment = all;
	struct error err;
	struct view *view;
	int rc = 0;

	if (candidate->hashed && strcmp(candidate->hash, hash) != 0)
		return 0;
	*file = backing_open(candidate->path, &err);
	if (*file && !candidate->hashed && backing_size(*file) == candidate->size) {
		segment.backing = *file;
		view = view_new(&segment, 1, NULL);
		rc = view ? view_hash(view, search->places.stop, candidate->hash) : -ENOMEM;
		view_unref(view);
		candidate->hashed = rc == 0;
	}
	if (rc == -EIO)
		rc = 0;
	if (rc == 0 && *file && candidate->hashed && strcmp(candidate->hash, hash) == 0)
		return 0;
	backing_unref(*file);
	*file = NULL;
	return rc;
}

int recipe_find_organ(struct recipe_search *search, uint64_t size, const char *hash,
		      struct backing **file)
{
	int rc = 0;

	*file = NULL;
	for (size_t i = 0; rc == 0 && !*file && i < search->n; i++)
		if (search->all[i].size == size)
			rc = try_organ(search, &search->all[i], hash, file);
	return rc;
}
