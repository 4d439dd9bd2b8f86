/* SPDX-License-Identifier: MIT */
/* graft_recover.c - takes up the grafts that an earlier mount left in the layer. */
#include "fs/base/base.h"
#include "fs/base/donor.h"
#include "fs/base/reference.h"
#include "fs/base/shards.h"
#include "fs/edit/graft.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/metadata_edit.h"
#include "fs/layer/layer_open.h"
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "fs/util/credentials.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct graft_recovery {
	struct model *model;
	struct foreign *foreign; /* models that references name */
	char *point;		 /* absolute path of the mount to be; NULL: not known */
};

/* Content of a copied organ of the layer. An organ that an earlier mount accepted stays in force,
 * also with a shape that this mount would refuse. */
static struct content *content_of_organ(struct filling *filling, struct backing *file)
{
	const struct source source = backing_source(file);

	if (organ_parse(&source, &filling->organ, &filling->err) < 0)
		return NULL;
	if (filling_check(filling) < 0) {
		free((char *)filling->organ.name);
		return NULL;
	}
	return content_new(inode_new(filling->model), &filling->organ, backing_ref(file));
}

/* Stand-in of one number, with the slot's tensor name, for an organ whose shape is unknown. False:
 * the slot has no tensor name. */
static bool stand_in_of_nothing(const struct filling *filling, struct organ *organ)
{
	const struct organ_place *place =
		filling->is_new ? NULL : &filling->model->places[filling->tensor];
	const struct gguf_tensor number = {
		.name = place ? place->tensor : filling->added,
		.name_length = place ? place->tensor_length : (uint32_t)filling->added_length,
		.dims = 1,
		.ne = { 1, 1, 1, 1 },
		.type = GGML_F32,
		.size = sizeof(float),
	};

	*organ = organ_of_tensor(&number);
	return number.name_length > 0;
}

/* Broken content, with a stand-in's shape, for an organ file that cannot be read: the slot must not
 * fall back to the base's organ. */
static struct content *broken_organ(struct filling *filling)
{
	const struct model *model = filling->model;
	struct content *content;
	struct backing *gone;
	char text[320], *name;

	if ((filling->is_new && !filling->added_length) ||
	    (!filling_stand_in(filling, &filling->organ) &&
	     !stand_in_of_nothing(filling, &filling->organ)))
		return NULL;
	name = graft_copy_name(&filling->organ);
	gone = backing_new_missing(layer_path(model->layer), 0);
	if (!name || !gone) {
		free(name);
		backing_unref(gone);
		return NULL;
	}
	filling->organ.name = name;
	content = content_new(inode_new(filling->model), &filling->organ, gone);
	if (content) {
		content_set_broken(content, error_describe(&filling->err, text, sizeof(text)));
		log_add(model->log, "%s/%s.bin: broken: %s", class_name(filling->klass),
			filling->name, text);
	}
	return content;
}

/* Is the failure that of an organ which cannot be read? A damaged file counts only if its slot
 * exists or is named in the layer: otherwise it may be anything. */
static bool is_unreadable(const struct filling *filling, const struct layer_entry *entry)
{
	return layer_is_unread(filling->err.code) ||
	       (entry->kind == LAYER_COPY && filling->err.code == EBADMSG &&
		(!filling->is_new || entry->origin.slot));
}

/* A model file named by references of one user, opened once. */
struct foreign {
	char *path;
	uid_t uid;
	struct base base; /* gguf NULL: it cannot be read, see err */
	char fingerprint[FINGERPRINT_TEXT];
	struct error err;
	struct foreign *next;
};

static void open_foreign(struct foreign *foreign, struct remote_cache *remote)
{
	const struct base_options options = { .remote = remote };
	struct base *base = &foreign->base;
	char *lacks;

	if (base_open_with(base, foreign->path, &options, &foreign->err) < 0) {
		base_close(base);
	} else if (base->shards && !shards_are_complete(base->shards)) {
		lacks = shards_missing_text(base->shards);
		error_set(&foreign->err, ENODATA, ERROR_NO_OFFSET, "%s", lacks ? lacks : "");
		free(lacks);
		base_close(base);
	} else if (fingerprint(base->file, base->gguf, foreign->fingerprint) < 0) {
		error_set(&foreign->err, EIO, ERROR_NO_OFFSET, "the model cannot be read");
		base_close(base);
	}
}

/* Open with the rights of the reference's owner: a layer may come from anywhere. */
static void open_foreign_as(struct foreign *foreign, gid_t gid, struct remote_cache *remote)
{
	struct credentials before;

	if (credentials_assume(foreign->uid, gid, &before) < 0) {
		error_set(&foreign->err, EPERM, ERROR_NO_OFFSET,
			  "the reference is user %u's, whose rights this daemon cannot assume",
			  (unsigned)foreign->uid);
		return;
	}
	open_foreign(foreign, remote);
	credentials_restore(&before);
}

/* Find the model at a path, read once for all references of one owner. NULL: out of memory. */
static struct foreign *find_foreign(struct graft_recovery *recovery, const char *path,
				    const struct layer_entry *entry)
{
	struct foreign *foreign = recovery->foreign;

	while (foreign && (strcmp(foreign->path, path) != 0 || foreign->uid != entry->uid))
		foreign = foreign->next;
	if (foreign)
		return foreign;
	foreign = calloc(1, sizeof(*foreign));
	if (!foreign || !(foreign->path = strdup(path))) {
		free(foreign);
		return NULL;
	}
	foreign->uid = entry->uid;
	open_foreign_as(foreign, entry->gid, recovery->model->remote);
	if (foreign->base.file)
		backing_set_log(foreign->base.file, recovery->model->log);
	foreign->next = recovery->foreign;
	recovery->foreign = foreign;
	return foreign;
}

static void close_foreign(struct graft_recovery *recovery)
{
	while (recovery->foreign) {
		struct foreign *foreign = recovery->foreign;

		recovery->foreign = foreign->next;
		base_close(&foreign->base);
		free(foreign->path);
		free(foreign);
	}
}

/* Find the tensor of a reference, if the model still has the fingerprint print and the tensor its
 * type and shape. */
static const struct gguf_tensor *find_tensor(const struct gguf *gguf, const char *print,
					     const struct reference *reference)
{
	const struct organ *organ = &reference->organ;
	const struct gguf_tensor *tensor = NULL;

	if (strcmp(print, reference->fingerprint) == 0)
		tensor = gguf_tensor(gguf, reference->tensor, reference->tensor_length);
	return tensor && tensor->type == organ->type && tensor->size == organ->data_size &&
			       memcmp(tensor->ne, organ->ne, sizeof(organ->ne)) == 0
		       ? tensor
		       : NULL;
}

/* Broken content for a reference whose model has changed or cannot be read; the reference is
 * kept. */
static struct content *broken_reference(const struct filling *filling,
					const struct reference *reference,
					const struct foreign *foreign)
{
	const struct organ *organ = &reference->organ;
	struct backing *gone = backing_new_missing(reference->model, organ->data_size);
	struct content *content = NULL;
	char text[320], why[700];

	if (foreign->base.gguf)
		snprintf(text, sizeof(text), "the file has another model now, or was changed");
	else
		error_describe(&foreign->err, text, sizeof(text));
	snprintf(why, sizeof(why), "a reference to %.100s%s: %s", reference->model,
		 strlen(reference->model) > 100 ? "..." : "", text);
	if (gone)
		content = content_new_reference(inode_new(filling->model), organ, gone, 0,
						reference->fingerprint);
	backing_unref(gone);
	if (content)
		content_set_broken(content, why);
	log_add(filling->model->log, "%s/%s.bin: broken: %s", class_name(filling->klass),
		filling->name, why);
	return content;
}

static struct content *refer(struct filling *filling, const struct reference *reference,
			     struct backing *file, const struct gguf_tensor *tensor)
{
	return content_new_reference(inode_new(filling->model), &filling->organ, file,
				     tensor->offset, reference->fingerprint);
}

/* Resolve a reference in the base or another model. The recorded path goes first: a chimera of the
 * base may have the base's fingerprint. */
static struct content *resolve(struct graft_recovery *recovery, struct filling *filling,
			       const struct reference *reference, const struct layer_entry *entry)
{
	struct model *model = filling->model;
	const struct gguf_tensor *own =
		find_tensor(model->gguf, model_fingerprint(model), reference);
	const struct gguf_tensor *tensor = NULL;
	const struct foreign *foreign;

	/* The base may have moved since. */
	if (own && (reference->of == REFERENCE_OF_BASE ||
		    strcmp(reference->model, backing_path(model->base)) == 0))
		return refer(filling, reference, model->base, own);
	foreign = find_foreign(recovery, reference->model, entry);
	if (!foreign)
		return NULL;
	if (foreign->base.gguf)
		tensor = find_tensor(foreign->base.gguf, foreign->fingerprint, reference);
	if (tensor)
		return refer(filling, reference, foreign->base.file, tensor);
	if (own && reference->of == REFERENCE_OF_UNKNOWN)
		return refer(filling, reference, model->base, own);
	return broken_reference(filling, reference, foreign);
}

static struct content *content_of_reference(struct graft_recovery *recovery,
					    struct filling *filling,
					    const struct layer_entry *entry)
{
	struct reference reference;
	struct content *content = NULL;

	if (reference_parse(entry->reference, &reference, &filling->err) == 0) {
		filling->organ = reference.organ;
		if (filling_check(filling) == 0)
			content = resolve(recovery, filling, &reference, entry);
	}
	filling->organ.name = NULL;
	reference_release(&reference);
	return content;
}

/* Stand-in for a link that is not followed yet: the base's organ, else the last organ seen there,
 * else one number. The caller releases *seen. */
static bool stand_in_of_link(const struct filling *filling, const struct layer_entry *entry,
			     struct reference *seen, struct organ *organ)
{
	struct error err;

	if (filling_stand_in(filling, organ))
		return true;
	if (!stand_in_of_nothing(filling, organ))
		return false;
	if (entry->reference && reference_parse(entry->reference, seen, &err) == 0)
		*organ = seen->organ;
	return true;
}

/* Content of a link, broken until the link is followed after the mount. */
static struct content *content_of_link(struct filling *filling, const struct layer_entry *entry)
{
	struct reference seen = { .model = NULL };
	struct content *content = NULL;
	struct backing *gone;

	if (!stand_in_of_link(filling, entry, &seen, &filling->organ) ||
	    filling_check(filling) < 0) {
		reference_release(&seen);
		filling->organ.name = NULL;
		error_set(&filling->err, ENOENT, ERROR_NO_OFFSET, "no tensor has that name");
		return NULL;
	}
	gone = backing_new_missing(entry->target, filling->organ.data_size);
	if (gone)
		content = content_new_link(inode_new(filling->model), &filling->organ, gone, 0,
					   entry->target);
	backing_unref(gone);
	reference_release(&seen);
	filling->organ.name = NULL;
	if (content) {
		content_set_owner(content, entry->uid, entry->gid);
		content_set_seen(content, entry->reference);
		content_set_broken(content, "a link that was not followed yet");
	}
	return content;
}

static struct content *content_of(struct graft_recovery *recovery, struct filling *filling,
				  const struct layer_entry *entry)
{
	switch (entry->kind) {
	case LAYER_COPY:
		return content_of_organ(filling, entry->file);
	case LAYER_LINK:
		return content_of_link(filling, entry);
	case LAYER_REFERENCE:
		return content_of_reference(recovery, filling, entry);
	default:
		if (!filling->is_new)
			return content_new_whiteout();
		error_set(&filling->err, ENOENT, ERROR_NO_OFFSET, "no tensor has that name");
		return NULL;
	}
}

/* Canonical path of the mount to be, to free. NULL: none. */
static char *canonical(const char *mountpoint)
{
	char *point = mountpoint ? realpath(mountpoint, NULL) : NULL, *directory;
	const char *name = mountpoint ? strrchr(mountpoint, '/') : NULL;

	/* The mount point may not exist yet. */
	if (point || !mountpoint)
		return point;
	directory = paths_directory(mountpoint);
	if (directory && asprintf(&point, "%s/%s", directory, name ? name + 1 : mountpoint) < 0)
		point = NULL;
	free(directory);
	return point;
}

static bool is_inside(const char *path, const char *point)
{
	const size_t n = point ? strlen(point) : 0;

	return n && strncmp(path, point, n) == 0 && (!path[n] || path[n] == '/');
}

/* The base may have moved since. */
static bool is_of_base(struct model *model, const struct layer_origin *origin)
{
	return strcmp(donor_fingerprint(origin->donor), model_fingerprint(model)) == 0 &&
	       (origin->of != REFERENCE_OF_ANOTHER ||
		strcmp(donor_path(origin->donor), backing_path(model->base)) == 0);
}

/* Donor of a copied organ, as recorded in the layer. */
static struct donor *donor_of(const struct graft_recovery *recovery,
			      const struct layer_origin *origin)
{
	struct model *model = recovery->model;
	struct donor *recorded = origin->donor;
	size_t n;
	const char *tensor = recorded ? donor_tensor(recorded, &n) : NULL;
	struct donor *own, *viewed;

	if (!tensor)
		return donor_ref(recorded);
	if (!is_of_base(model, origin))
		return is_inside(donor_path(recorded), recovery->point)
			       ? donor_from_path(donor_path(recorded), NULL, tensor, n)
			       : donor_ref(recorded);
	own = donor_from_backing(model->base, tensor, n);
	if (!donor_view(recorded))
		return own;
	viewed = donor_from_view(own, donor_view(recorded));
	donor_unref(own);
	return viewed;
}

/* Set the tensor's name of an added slot, independently of its content: the name recorded in the
 * layer, else that of a tensor of the base that differs in the block alone. Without both, the
 * organ's own header decides. */
static void name_slot(struct filling *filling, const struct layer_origin *origin)
{
	struct organ stand_in;
	char added[ADDED_NAME_MAX];
	size_t length;

	if (!filling->is_new ||
	    (origin->slot && filling_name(filling, origin->slot, origin->slot_length)))
		return;
	if (!filling_stand_in(filling, &stand_in))
		return;
	length = anatomy_added(stand_in.name, stand_in.name_length, filling->name, filling->klass,
			       added, sizeof(added));
	filling_name(filling, added, length);
}

/* May the row be the removal of a slot that only a merge had, of a further block? Without the merge
 * it means nothing (as when the mount ended while the merge did), and a later merge shows its own
 * tensor there. */
static bool is_of_merge(const struct filling *filling, const struct layer_entry *entry)
{
	struct organ stand_in;

	return entry->kind == LAYER_WHITEOUT && filling->is_new &&
	       filling_stand_in(filling, &stand_in);
}

static int forget_removal(struct model *model, const struct layer_entry *entry)
{
	const bool stays = layer_is_read_only(model->layer);
	const struct layer_undone undone = { LAYER_SLOT, entry->klass, entry->name, false };
	const int rc = stays ? 0 : layer_undo(model->layer, &undone, 1);

	if (rc == 0)
		log_add(model->log,
			"%s/%s.bin: the removal recorded in the layer is %s: the base has no such "
			"tensor",
			class_name(entry->klass), entry->name, stays ? "ignored" : "deleted");
	return rc;
}

static int recover_one(void *context, const struct layer_entry *entry, struct error *err)
{
	struct graft_recovery *recovery = context;
	struct model *model = recovery->model;
	struct filling filling = { .model = model,
				   .klass = entry->klass,
				   .name = entry->name,
				   .any_shape = true,
				   .taken_up = true,
				   .err = *err };
	struct content *content = NULL;
	char text[320], file[NAME_MAX + sizeof(".bin")];
	bool gone;
	int rc;

	filling_find(&filling);
	name_slot(&filling, &entry->origin);
	if (entry->file || entry->kind != LAYER_COPY)
		content = content_of(recovery, &filling, entry);
	gone = is_of_merge(&filling, entry);
	backing_unref(entry->file);
	if (gone && forget_removal(model, entry) == 0)
		return 0;
	if (content && content->kind != CONTENT_WHITEOUT)
		content->mtime = entry->mtime;
	if (content && content->kind == CONTENT_COPY)
		content_set_donor(content, donor_of(recovery, &entry->origin));
	if (!content && is_unreadable(&filling, entry))
		content = broken_organ(&filling);
	rc = content ? filling_put(&filling, content) : -ENOMEM;
	if (rc == 0) {
		model->recovered++;
		return 0;
	}
	if (!filling.err.code)
		error_errno(&filling.err, -rc);
	snprintf(file, sizeof(file), "%s.bin", entry->name);
	if (layer_is_unread(filling.err.code))
		return layer_unread(model->layer, filling.err.code, err);
	model_leave_alone(model, class_name(entry->klass), file,
			  error_describe(&filling.err, text, sizeof(text)));
	return 0;
}

int graft_recover(struct model *model, const char *mountpoint, struct error *err)
{
	struct graft_recovery recovery = { .model = model, .point = canonical(mountpoint) };
	const int rc = layer_each(model->layer, recover_one, &recovery, err);

	close_foreign(&recovery);
	free(recovery.point);
	return rc;
}
