/* SPDX-License-Identifier: MIT */
/* symlinks.c - see symlinks.h. A path that ends at a link in this mount is followed on from that
 * link. */
#include "fs/edit/symlinks.h"
#include "fs/base/donor.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/journal.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/stage.h"
#include "fs/model/inode.h"
#include "fs/model/model.h"
#include "fs/paths/path_probe.h"
#include "fs/paths/path_resolve.h"
#include "fs/paths/probe_threads.h"
#include "fs/storage/backing.h"
#include "fs/util/clock.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/time_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Timeout in milliseconds for a path that gave no answer the last time. */
#define SILENT_MS 500

struct symlinks {
	struct model *const *models;
	uint32_t n;
	bool several;
	char *point; /* set before the first request */
	dev_t device;
	struct probe_threads *probes;
	pthread_mutex_t turn; /* held during a refresh */
	struct timespec last; /* start of the last refresh; protected by turn */
	const struct model *last_model;
	bool silent; /* some gave no answer then; protected by turn */
};

struct symlink_entry {
	struct model *model;
	uint32_t slot; /* for symlinks_refresh() */
	enum organ_class klass;
	struct content *content; /* for symlinks_refresh(): the slot's own content */
	struct path_probe at;
	/* the first link on the path that adapters change: the path ends there */
	struct origin shown;
	struct path_probe_result found;
	bool settled; /* found has the final result */
	bool inside;  /* the path leads through this mount to an organ of the mount's own */
	bool silent;  /* no answer in time */
	bool by_seen; /* the path leads nowhere, but the file seen at its end is still there */
};

struct symlinks *symlinks_new(struct model *const *models, uint32_t n, bool several)
{
	struct symlinks *links = calloc(1, sizeof(*links));

	if (!links || !(links->probes = probe_threads_new())) {
		free(links);
		return NULL;
	}
	links->models = models;
	links->n = n;
	links->several = several;
	pthread_mutex_init(&links->turn, NULL);
	return links;
}

void symlinks_free(struct symlinks *links)
{
	if (!links)
		return;
	probe_threads_unref(links->probes);
	pthread_mutex_destroy(&links->turn);
	free(links->point);
	free(links);
}

void symlinks_set_mount(struct symlinks *links, const char *point, dev_t device)
{
	links->point = strdup(point);
	links->device = device;
}

/* Path of a class directory relative to the root of the mount. */
static void directory_of(const struct symlinks *links, const struct model *model,
			 enum organ_class klass, char inside[64])
{
	/* A name that is too long leads nowhere. */
	if (links->several)
		snprintf(inside, 64, "%.50s/%s", model->shown, class_name(klass));
	else
		snprintf(inside, 64, "%s", class_name(klass));
}

static char *next_name(char **path)
{
	char *name = *path;
	const size_t n = strcspn(name, "/");

	*path = name + n + (name[n] != '\0');
	name[n] = '\0';
	return name;
}

/* Parse a path in the mount that names an organ file: [MODEL/][.base/]CLASS/NAME.bin. */
static bool find_own(const struct symlinks *links, char *path, struct origin *place, bool *base)
{
	const char *name = next_name(&path);
	enum organ_class klass = 0;
	size_t n;

	place->model = links->several ? NULL : model_latest(links->models[0]);
	for (uint32_t i = 0; links->several && i < links->n; i++)
		if (strcmp(links->models[i]->shown, name) == 0)
			place->model = model_latest(links->models[i]);
	if (!place->model)
		return false;
	if (links->several)
		name = next_name(&path);
	*base = strcmp(name, ".base") == 0;
	if (*base)
		name = next_name(&path);
	if (!class_find(name, strlen(name), &klass))
		return false;
	name = next_name(&path);
	n = strlen(name);
	return *path == '\0' && n > 4 && strcmp(name + n - 4, ".bin") == 0 &&
	       model_find_slot(place->model, klass, name, n - 4, &place->slot) &&
	       (!*base || place->slot < place->model->gguf->n_tensors);
}

static void set_nowhere(struct path_probe_result *found)
{
	error_set(&found->err, ENOENT, ERROR_NO_OFFSET, "%s among the organs of this mount",
		  strerror(ENOENT));
}

/* Set found to the organ at place, whose content is NULL for the base's. */
static void take_organ(const struct origin *place, struct path_probe_result *found)
{
	const struct content *content = place->content;
	const struct organ organ = model_organ(place->model, place->slot, content);
	char *name = graft_copy_name(&organ);

	if (!name) {
		error_errno(&found->err, ENOMEM);
		return;
	}
	found->organ = organ;
	found->organ.name = name;
	found->file = backing_ref(content ? content->file : place->model->base);
	found->donor = content ? donor_ref(content->donor) : NULL;
	found->offset = content ? content->offset : place->model->gguf->tensors[place->slot].offset;
}

static void release_at(struct symlink_entry *link)
{
	free((char *)link->at.path);
	free((char *)link->at.seen);
	backing_unref(link->at.file);
	link->at.path = link->at.seen = NULL;
	link->at.file = NULL;
}

static void release(struct symlink_entry *link)
{
	content_unref(link->content);
	path_probe_result_release(&link->found);
	release_at(link);
}

/* Follow the link to next, and if its path leads nowhere, the file that it led to before. False:
 * out of memory. */
static bool go_to(struct symlink_entry *link, const struct content *to)
{
	release_at(link);
	link->at.path = strdup(to->target);
	link->at.seen = to->seen ? strdup(to->seen) : NULL;
	if (to->seen && !to->broken) {
		link->at.file = backing_ref(to->file);
		link->at.offset = to->offset;
	}
	return link->at.path && !link->at.seen == !to->seen;
}

/* Resolve a path into the mount: to an organ, or to a link to follow on. */
static void step_inside(const struct symlinks *links, struct symlink_entry *link)
{
	struct path_probe_result *found = &link->found;
	struct origin place = { .content = NULL };
	const struct content *own;
	bool base;

	link->settled = link->inside = true;
	if (link->at.gguf) {
		error_set(&found->err, EINVAL, ERROR_NO_OFFSET, "the path leads into this mount");
		return;
	}
	if (!find_own(links, found->path, &place, &base)) {
		set_nowhere(found);
		return;
	}
	if (!base)
		place.content = slots_get(place.model->slots, place.slot);
	own = content_own(place.content);
	if (content_is_whiteout(place.content)) {
		set_nowhere(found);
	} else if (!content_is_link(own)) {
		take_organ(&place, found);
	} else if (found->links >= PATH_RESOLVE_LINKS_MAX) {
		error_errno(&found->err, ELOOP);
	} else {
		/* The result is the first link on the path that adapters change (end_at_shown()).
		 * Its own target is followed only to find a path that leads back here, which would
		 * apply the adapters once more at each refresh. */
		if (own != place.content && !link->shown.content) {
			link->shown = place;
			content_ref(place.content);
		}
		directory_of(links, place.model, place.model->places[place.slot].klass,
			     link->at.inside);
		link->at.links = found->links + 1;
		link->settled = !go_to(link, own);
		if (link->settled)
			error_errno(&found->err, ENOMEM);
		else
			path_probe_result_release(found);
	}
	content_unref(place.content);
}

/* Probe all unsettled links once. Returns the number of links still unsettled. */
static size_t look_once(const struct symlinks *links, struct symlink_entry *all, size_t n,
			const struct timespec *until)
{
	const struct path_resolve_mount own = { links->point, links->device };
	struct path_probe *places = calloc(n + 1, sizeof(*places));
	struct path_probe_result *found = calloc(n + 1, sizeof(*found));
	const bool has_memory = places && found;
	size_t asked = 0, left = 0;

	for (size_t i = 0; has_memory && i < n; i++)
		if (!all[i].settled)
			places[asked++] = all[i].at;
	if (has_memory)
		path_probe(links->probes, &own, places, asked, until, found);
	asked = 0;
	for (size_t i = 0; i < n; i++) {
		if (all[i].settled)
			continue;
		if (has_memory)
			all[i].found = found[asked++];
		else
			error_errno(&all[i].found.err, ENOMEM);
		if (all[i].found.own && all[i].found.err.code == 0)
			step_inside(links, &all[i]);
		else
			all[i].settled = true;
		left += !all[i].settled;
	}
	free(places);
	free(found);
	return left;
}

/* If adapters change a link on the path, make that link's shown organ the result. */
static void end_at_shown(struct symlink_entry *link)
{
	if (!link->shown.content)
		return;
	if (link->found.err.code == 0) {
		path_probe_result_release(&link->found);
		take_organ(&link->shown, &link->found);
	}
	content_unref(link->shown.content);
	link->shown.content = NULL;
}

/* Does the path lead nowhere? A file that is no organ, or a loop of links, is an error of its
 * own. */
static bool leads_nowhere(const struct path_probe_result *found)
{
	const int code = found->err.code;

	return code && code != EINVAL && code != ELOOP && code != ENOMEM;
}

/* Probe the last good file of each link whose path leads nowhere. If that file is gone too, the
 * link gets the path's error. */
static void fall_back(const struct symlinks *links, struct symlink_entry *all, size_t n,
		      long milliseconds)
{
	const struct timespec until = clock_in(milliseconds);
	struct error *lost = calloc(n, sizeof(*lost));
	size_t left = 0;

	for (size_t i = 0; lost && i < n; i++) {
		struct symlink_entry *link = &all[i];

		link->silent = link->found.err.code == ETIMEDOUT;
		if (!link->settled || !link->at.seen || !leads_nowhere(&link->found))
			continue;
		lost[i] = link->found.err;
		path_probe_result_release(&link->found);
		free((char *)link->at.path);
		link->at.path = NULL;
		link->settled = false;
		left++;
	}
	if (left)
		look_once(links, all, n, &until);
	for (size_t i = 0; lost && i < n; i++) {
		if (!lost[i].code)
			continue;
		all[i].by_seen = all[i].settled && all[i].found.err.code == 0;
		if (!all[i].by_seen)
			all[i].found.err = lost[i];
		all[i].settled = true;
	}
	free(lost);
}

/* Follow all links to their ends. A link that is not settled in time has its error set. */
static void follow_all(const struct symlinks *links, struct symlink_entry *all, size_t n,
		       bool hurried)
{
	const long milliseconds = hurried ? SILENT_MS : SYMLINKS_TIMEOUT * 1000;
	const struct timespec until = clock_in(milliseconds);

	while (look_once(links, all, n, &until))
		;
	fall_back(links, all, n, milliseconds);
	for (size_t i = 0; i < n; i++)
		end_at_shown(&all[i]);
}

/* Start to follow a link. If out of memory, the link is settled with that error. */
static void set_out(const struct symlinks *links, struct symlink_entry *link, struct model *model,
		    enum organ_class klass, const char *target, uid_t uid, gid_t gid)
{
	link->model = model;
	link->klass = klass;
	link->at = (struct path_probe){ .path = strdup(target), .uid = uid, .gid = gid };
	directory_of(links, model, klass, link->at.inside);
	link->settled = !link->at.path;
	if (link->settled)
		error_errno(&link->found.err, ENOMEM);
}

#define WHY_MAX 640

/* Reason why the link leads to no organ; "" if it leads to one. */
static void describe(const struct path_probe_result *found, const char *target, char why[WHY_MAX])
{
	char text[320];

	why[0] = '\0';
	if (found->err.code)
		snprintf(why, WHY_MAX, "a link to %.100s%s: %s", target,
			 strlen(target) > 100 ? "..." : "",
			 error_describe(&found->err, text, sizeof(text)));
}

/* New content of the link for the result. NULL: out of memory. */
static struct content *make_content(uint64_t ino, const struct path_probe_result *found,
				    const char *target, const struct organ *stand_in)
{
	const bool well = found->err.code == 0;
	const struct organ *organ = well ? &found->organ : stand_in;
	struct backing *file =
		well ? backing_ref(found->file) : backing_new_missing(target, organ->data_size);
	struct content *content = NULL;
	char why[WHY_MAX];

	if (file)
		content = content_new_link(ino, organ, file, well ? found->offset : 0, target);
	backing_unref(file);
	if (content && found->donor)
		content_set_donor(content, donor_ref(found->donor));
	describe(found, target, why);
	if (content && why[0])
		content_set_broken(content, why);
	return content;
}

struct content *symlinks_content(struct symlinks *links, struct model *model,
				 enum organ_class klass, const char *target, uid_t uid, gid_t gid,
				 const struct organ *stand_in, struct error *err)
{
	struct symlink_entry link = { .slot = 0 };
	struct content *content = NULL;

	set_out(links, &link, model, klass, target, uid, gid);
	follow_all(links, &link, 1, false);
	*err = link.found.err;
	if (err->code == 0 || (err->code != EINVAL && err->code != ENOMEM && stand_in)) {
		content = make_content(inode_new(model), &link.found, target, stand_in);
		if (!content)
			error_errno(err, ENOMEM);
		else
			content_set_owner(content, uid, gid);
		if (content && !link.inside)
			content_set_seen(content, link.found.seen);
	}
	release(&link);
	return content;
}

int symlinks_gguf(struct model *model, const char *target, uid_t uid, gid_t gid, bool hurried,
		  struct backing **file, struct gguf **gguf, struct error *err)
{
	struct symlink_entry link = { .slot = 0 };
	struct path_probe_result *found = &link.found;

	set_out(model->links, &link, model, CLASS_ADAPTERS, target, uid, gid);
	link.at.gguf = true;
	follow_all(model->links, &link, 1, hurried);
	if (found->err.code == 0) {
		*file = backing_ref(found->file);
		*gguf = found->gguf;
		found->gguf = NULL;
	}
	*err = found->err;
	release(&link);
	return -err->code;
}

/* Does the link lead to the same organ as before? Computed files have no inode to compare. */
static bool is_same(const struct content *content, const struct path_probe_result *found)
{
	char why[WHY_MAX];

	describe(found, content->target, why);
	if (found->err.code)
		return content->broken && strcmp(content->broken, why) == 0;
	if (backing_is_computed(content->file) || backing_is_computed(found->file))
		return !content->broken && content->file == found->file;
	return !content->broken && content->offset == found->offset &&
	       paths_same_file(backing_stat(content->file), backing_stat(found->file));
}

/* Check that the organ is whole, and fits if the slot is one of the base's; an added slot takes
 * any. */
static void check_fit(struct symlink_entry *link)
{
	const struct model *model = link->model;
	struct path_probe_result *found = &link->found;

	if (found->err.code == 0)
		organ_check_whole(&found->organ, "the organ", &found->err);
	if (found->err.code == 0 && link->slot < model->gguf->n_tensors)
		organ_fits(&found->organ, &model->gguf->tensors[link->slot], model->any_shape,
			   &found->err);
}

/* Target's state to record: as found now, or for a link that leads nowhere, as seen before. */
static const char *seen_of(const struct symlink_entry *link)
{
	if (link->found.err.code || link->by_seen)
		return link->content->seen;
	return link->inside ? NULL : link->found.seen;
}

/* Record the target's state in the layer, with the commit lock held. */
static void keep_seen(const struct symlink_entry *link, const struct content *content)
{
	const char *was = link->content->seen, *is = content->seen;
	const struct model *model = link->model;
	const char *name = model->places[link->slot].name;
	int rc;

	if (was == is || (was && is && strcmp(was, is) == 0))
		return;
	rc = layer_record_seen(model->layer, link->klass, name, content->target, is);
	if (rc < 0)
		log_add(model->log,
			"%s/%s.bin: cannot record the link's target in the layer: %s; the next "
			"mount follows the link anew",
			class_name(link->klass), name, strerror(-rc));
}

/* Put the link's new result into its slot, if the slot still holds the link. */
static void renew(struct symlink_entry *link)
{
	struct model *model = link->model;
	struct content *content, *now;

	check_fit(link);
	if (is_same(link->content, &link->found))
		return;
	content = make_content(inode_new(model), &link->found, link->content->target,
			       &link->content->organ);
	if (!content)
		return;
	content_set_owner(content, link->content->uid, link->content->gid);
	content_set_seen(content, seen_of(link));
	content->mtime = link->content->mtime;
	if (content->broken)
		log_add(model->log, "%s/%s.bin: %s", class_name(link->klass),
			model->places[link->slot].name, content->broken);
	journal_begin(model);
	now = slots_get_own(model->slots, link->slot);
	if (now == link->content) {
		keep_seen(link, content);
		slots_set(model->slots, link->slot, content_ref(content));
	}
	content_unref(now);
	journal_end(model);
	content_unref(content);
}

/* Append the links of a model to the n in *all. last: without those that were good through this
 * mount. */
static size_t collect(const struct symlinks *links, struct model *model, bool last,
		      struct symlink_entry **all, size_t n)
{
	struct snapshot snapshot;
	struct symlink_entry *more;

	if (slots_snapshot(model->slots, &snapshot) < 0)
		return n;
	for (uint32_t i = 0; i < snapshot.n; i++) {
		struct content *content = content_own(snapshot.content[i]);

		if (!content_is_link(content) || (last && !content->seen && !content->broken))
			continue;
		more = reallocarray(*all, n + 1, sizeof(**all));
		if (!more)
			break;
		*all = more;
		more[n] = (struct symlink_entry){ .slot = i };
		set_out(links, &more[n], model, model->places[i].klass, content->target,
			content->uid, content->gid);
		if (more[n].settled || !go_to(&more[n], content)) {
			release(&more[n]);
			break;
		}
		more[n++].content = content_ref(content);
	}
	snapshot_release(&snapshot);
	return n;
}

/* Follow all links of the model, or for NULL of all models, with the turn held; last as for
 * collect(). Returns true if one gave no answer. */
static bool look_again(struct symlinks *links, const struct model *model, bool last)
{
	struct symlink_entry *all = NULL;
	bool silent = false;
	size_t n = 0;

	for (uint32_t i = 0; i < links->n; i++) {
		struct model *now = model_latest(links->models[i]);

		if (model && model != now)
			continue;
		if (!last) {
			silent |= merge_edit_refresh(now, links->models, links->n, links->silent);
			silent |= adapter_edit_refresh(now, links->silent);
		}
		n = collect(links, now, last, &all, n);
	}
	if (n)
		follow_all(links, all, n, links->silent);
	for (size_t i = 0; i < n; i++) {
		silent |= all[i].silent;
		renew(&all[i]);
		release(&all[i]);
	}
	free(all);
	return silent;
}

void symlinks_refresh_last(struct symlinks *links)
{
	pthread_mutex_lock(&links->turn);
	look_again(links, NULL, true);
	pthread_mutex_unlock(&links->turn);
}

void symlinks_refresh(struct symlinks *links, struct model *model)
{
	struct timespec asked;

	clock_gettime(CLOCK_MONOTONIC, &asked);
	pthread_mutex_lock(&links->turn);
	/* The first of the threads that waited for the turn together refreshes for all. */
	if (model == links->last_model && is_earlier(&asked, &links->last)) {
		pthread_mutex_unlock(&links->turn);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &links->last);
	links->last_model = model;
	links->silent = look_again(links, model, false);
	pthread_mutex_unlock(&links->turn);
}
