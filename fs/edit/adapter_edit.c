/* SPDX-License-Identifier: MIT */
/* adapter_edit.c - see adapter_edit.h. */
#include "fs/edit/adapter_edit.h"
#include "fs/base/base.h"
#include "fs/base/donor.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/journal.h"
#include "fs/edit/stage.h"
#include "fs/edit/symlinks.h"
#include "fs/edit/type_edit.h"
#include "fs/layer/layer.h"
#include "fs/layer/layer_records.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/model.h"
#include "fs/storage/backing.h"
#include "fs/util/log.h"
#include "gguf/pair.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECTORY "adapters/"

/* Directory of an adapter's file; "" for the importance matrix. */
static const char *directory_of(const char *file)
{
	return adapters_is_importance(file) ? "" : DIRECTORY;
}

/* Reason of a link that an earlier mount left, until the mount is there. */
#define NOT_YET "a link that was not followed yet"

/* more: text after the reason. */
static int refuse(struct model *model, const char *file, const struct error *err, const char *more,
		  int rc)
{
	char text[LAYER_WHY];

	log_add(model->log, "%s%s: refused: %s%s; nothing is changed", directory_of(file), file,
		layer_why(model->layer, err, rc, text), more);
	return rc;
}

static int not_for_this(const struct model *model, struct error *err)
{
	return adapters_apply(model)
		       ? 0
		       : error_set(err, EINVAL, ERROR_NO_OFFSET, "the model is an adapter itself");
}

/* New link of that user to file, which becomes the content's. file NULL: a link that cannot be
 * read, for the reason why. NULL: out of memory. */
static struct content *make_link(struct model *model, const char *target, uid_t uid, gid_t gid,
				 struct backing *file, const char *why)
{
	const struct organ nothing = { .name = "" };
	struct backing *at = file ? file : backing_new_missing(target, 0);
	struct content *content =
		at ? content_new_link(inode_new(model), &nothing, at, 0, target) : NULL;

	backing_unref(at);
	if (content && !file)
		content_set_broken(content, why);
	else if (content)
		backing_announce(file, FILE_USE_DONOR);
	if (content)
		content_set_owner(content, uid, gid);
	return content;
}

/* Follow a link: a new content, with the file's tensors in *gguf, or a broken one if the file
 * cannot be read. NULL with err set: the file is no adapter for the model. */
static struct content *follow(struct model *model, const char *name, const char *target, uid_t uid,
			      gid_t gid, bool hurried, struct gguf **gguf, struct error *err)
{
	struct backing *file = NULL;
	struct content *content = NULL;
	char text[320];
	int rc;

	*gguf = NULL;
	rc = symlinks_gguf(model, target, uid, gid, hurried, &file, gguf, err);
	if (rc == 0)
		rc = adapters_check_file(model, name, file, *gguf, err);
	if (rc == 0 && adapters_is_importance(name))
		rc = type_edit_check_importance(model, *gguf, NULL, err);
	if (rc == -EINVAL || rc == -ENOMEM) {
		backing_unref(file);
	} else {
		if (file)
			backing_set_log(file, model->log);
		content = make_link(model, target, uid, gid, file,
				    error_describe(err, text, sizeof(text)));
		if (!content)
			error_errno(err, ENOMEM);
	}
	if (content)
		return content;
	gguf_free(*gguf);
	*gguf = NULL;
	return NULL;
}

static const char *hint(const char *target)
{
	return target[0] == '/' ? "" : "; " GRAFT_RELATIVE;
}

static void report_broken(struct model *model, const char *file, const struct content *link)
{
	if (link->broken)
		log_add(model->log, "%s%s: a link to %.100s%s: %s%s", directory_of(file), file,
			link->target, strlen(link->target) > 100 ? "..." : "", link->broken,
			hint(link->target));
}

/* Write the link to the layer and put it in force, with the commit lock held. Uses up link and
 * gguf. */
static int put_link(struct model *model, const char *file, size_t length, struct content *link,
		    struct gguf *gguf, struct error *err)
{
	int rc = journal_check(model);

	if (rc == 0)
		rc = adapters_check_scale(model, file, length, NULL, gguf, err);
	if (rc == 0)
		rc = adapters_reserve(model, file, length, ADAPTER_GGUF, err);
	if (rc == 0)
		rc = layer_write_adapter(model->layer,
					 &(struct layer_adapter){ .file = file,
								  .target = link->target,
								  .uid = link->uid,
								  .gid = link->gid,
								  .mtime = link->mtime });
	if (rc < 0) {
		content_unref(link);
		gguf_free(gguf);
		return rc;
	}
	report_broken(model, file, link);
	adapters_set_link(model, file, length, link, gguf);
	journal_refresh(model);
	return 0;
}

int adapter_edit_link(struct model *model, const char *file, const char *target, uid_t uid,
		      gid_t gid)
{
	struct error err = { 0 };
	struct content *link = NULL;
	struct gguf *gguf = NULL;
	enum adapter_file kind;
	size_t length;
	int rc = adapters_is_importance(file) ? 0 : not_for_this(model, &err);

	if (rc == 0 && !(adapters_parse(file, &kind, &length) && kind == ADAPTER_GGUF))
		rc = error_set(&err, EINVAL, ERROR_NO_OFFSET,
			       "the file holds a number and cannot be a link");
	if (rc == 0) {
		link = follow(model, file, target, uid, gid, false, &gguf, &err);
		rc = link && err.code != ENOENT ? 0 : -err.code;
	}
	/* A new link needs its file; the file of an earlier mount's link may be away for a
	 * while. */
	if (rc == -ENOENT)
		content_unref(link);
	if (rc == 0) {
		err.code = 0;
		journal_begin(model);
		rc = put_link(model, file, length, link, gguf, &err);
		journal_end(model);
	}
	return rc < 0 ? refuse(model, file, &err, hint(target), rc) : 0;
}

int adapter_edit_use_importance(struct model *model, const char *path, struct error *err)
{
	const size_t length = strlen(ADAPTERS_IMPORTANCE);
	struct base matrix;
	struct content *link = NULL;
	int rc = base_open(&matrix, path, err);

	if (rc == 0)
		rc = adapters_check_file(model, ADAPTERS_IMPORTANCE, matrix.file, matrix.gguf, err);
	if (rc == 0 &&
	    !(link = make_link(model, path, geteuid(), getegid(), backing_ref(matrix.file), NULL)))
		rc = error_errno(err, ENOMEM);
	journal_begin(model);
	if (rc == 0)
		rc = adapters_reserve(model, ADAPTERS_IMPORTANCE, length, ADAPTER_GGUF, err);
	if (rc == 0) {
		adapters_set_link(model, ADAPTERS_IMPORTANCE, length, link, matrix.gguf);
		matrix.gguf = NULL;
		journal_refresh(model);
	} else {
		content_unref(link);
	}
	journal_end(model);
	base_close(&matrix);
	return rc < 0 && !err->code ? error_errno(err, -rc) : rc;
}

struct writing {
	struct model *model;
	const char *file;
	enum adapter_file kind;
	size_t length; /* of the adapter's name in file */
	struct adapter_scale value;
	struct timespec mtime;
	struct error err;
};

static int parse_value(const char *text, size_t n, enum adapter_file kind,
		       struct adapter_scale *value, struct error *err)
{
	const int rc = adapter_scale_parse(text, n, value, err);

	if (rc == 0 && kind == ADAPTER_ALPHA && (value->n > 1 || value->keeps_norm))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "an alpha is one number");
	return rc;
}

static int check_value(struct writing *writing, const struct source *source)
{
	char text[4 * ADAPTER_TEXT_MAX];
	int rc = not_for_this(writing->model, &writing->err);

	if (rc == 0 && source->size > sizeof(text))
		rc = error_set(&writing->err, EINVAL, ERROR_NO_OFFSET, "it has more than %zu bytes",
			       sizeof(text));
	if (rc == 0)
		rc = source->read_at(source->context, text, (size_t)source->size, 0);
	return rc < 0 ? rc
		      : parse_value(text, (size_t)source->size, writing->kind, &writing->value,
				    &writing->err);
}

/* The caller holds the commit lock. */
static int put_value(struct writing *writing, const char *text)
{
	struct model *model = writing->model;
	int rc = journal_check(model);

	if (rc == 0)
		rc = adapters_check_scale(model, writing->file, writing->length, &writing->value,
					  NULL, &writing->err);
	if (rc == 0)
		rc = adapters_reserve(model, writing->file, writing->length, writing->kind,
				      &writing->err);
	if (rc == 0)
		rc = layer_write_adapter(model->layer,
					 &(struct layer_adapter){ .file = writing->file,
								  .text = text,
								  .mtime = writing->mtime });
	if (rc < 0)
		return rc;
	adapters_set_value(model, writing->file, writing->length, writing->kind, &writing->value,
			   &writing->mtime);
	adapters_refresh(model);
	return 0;
}

int adapter_edit_judge(struct model *model, const char *file, const char *text, size_t n)
{
	struct memory_bytes memory = { (const uint8_t *)text, n };
	const struct source source = source_of_memory(&memory);
	struct writing writing = { .model = model };
	int rc;

	adapters_parse(file, &writing.kind, &writing.length);
	rc = check_value(&writing, &source);
	return rc < 0 ? refuse(model, file, &writing.err, "", rc) : 0;
}

int adapter_edit_write(struct model *model, const char *file, struct stage *stage)
{
	struct writing writing = { .model = model,
				   .file = file,
				   .mtime = stage_shown(stage).mtime };
	char text[ADAPTER_TEXT_MAX];
	struct source staged;
	int rc = adapters_parse(file, &writing.kind, &writing.length) ? 0 : -EINVAL;

	if (rc == 0 && writing.kind == ADAPTER_GGUF)
		rc = error_set(&writing.err, EINVAL, ERROR_NO_OFFSET,
			       "an adapter's file cannot be copied here: link it with ln -s");
	if (rc < 0)
		return refuse(model, file, &writing.err, "", rc);
	rc = stage_commit_begin(stage, &staged);
	if (rc == 0)
		rc = check_value(&writing, &staged);
	/* The layer gets the text as it is shown; the writer keeps the bytes that it wrote. */
	if (rc == 0) {
		adapter_scale_print(&writing.value, text);
		journal_begin(model);
		rc = put_value(&writing, text);
		journal_end(model);
	}
	rc = stage_commit_keep(stage, rc);
	return rc < 0 ? refuse(model, file, &writing.err, "", rc) : 0;
}

/* The caller holds the commit lock. */
static int remove_file(struct model *model, const char *file, enum adapter_file kind, size_t length)
{
	const struct timespec never = { 0 };
	char scale[NAME_MAX + 8];
	const struct layer_undone undone[] = { { LAYER_ADAPTER, .name = file },
					       { LAYER_ADAPTER, .name = scale } };
	int rc = journal_check(model);

	snprintf(scale, sizeof(scale), "%.*s.scale", (int)length, file);
	if (rc == 0)
		rc = layer_undo(model->layer, undone, kind == ADAPTER_GGUF ? 2 : 1);
	if (rc < 0)
		return rc;
	if (kind == ADAPTER_GGUF)
		adapters_set_link(model, file, length, NULL, NULL);
	else
		adapters_set_value(model, file, length, kind, NULL, &never);
	journal_refresh(model);
	return 0;
}

int adapter_edit_remove(struct model *model, const char *file)
{
	struct error err = { 0 };
	struct adapter_attr shown;
	enum adapter_file kind;
	size_t length;
	int rc;

	journal_begin(model);
	if (adapters_parse(file, &kind, &length) && adapters_lookup(model, file, &shown)) {
		content_unref(shown.link);
		if (adapters_is_importance(file))
			rc = type_edit_check_importance(model, NULL, NULL, &err);
		else
			rc = adapters_apply(model) ? 0 : -EPERM;
		if (rc == 0)
			rc = remove_file(model, file, kind, length);
	} else {
		rc = -ENOENT;
	}
	journal_end(model);
	if (rc < 0 && rc != -ENOENT)
		log_add(model->log, "%s%s: cannot remove: %s; the file stays", directory_of(file),
			file, err.code ? err.text : strerror(-rc));
	return rc;
}

/* Alpha stated by the GGUF of a half's donor; 0: none. */
static float donors_alpha(const struct donor *donor)
{
	struct backing *file = NULL;
	struct gguf *gguf = NULL;
	struct error err;
	size_t n;
	float alpha = 0.0f;

	if (donor && donor_tensor(donor, &n))
		file = donor_open(donor, &err);
	if (file) {
		const struct source source = backing_source(file);

		gguf = gguf_read(&source, NULL);
	}
	if (gguf)
		alpha = pair_alpha(gguf);
	gguf_free(gguf);
	backing_unref(file);
	return alpha;
}

/* The caller holds the commit lock. */
static void set_alpha(struct model *model, float alpha)
{
	const size_t length = strlen(ADAPTERS_COPIED);
	const struct adapter_scale value = { .n = 1, .numbers = { (double)alpha } };
	char text[ADAPTER_TEXT_MAX];
	struct timespec now;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	adapter_scale_print(&value, text);
	rc = layer_write_adapter(model->layer,
				 &(struct layer_adapter){ .file = ADAPTERS_COPIED ".alpha",
							  .text = text,
							  .mtime = now });
	if (rc < 0) {
		log_add(model->log,
			DIRECTORY ADAPTERS_COPIED ".alpha: cannot write %.*s, the donor's alpha: "
						  "%s; the pairs are merged with their scale alone",
			(int)strcspn(text, "\n"), text, strerror(-rc));
		return;
	}
	adapters_set_value(model, ADAPTERS_COPIED, length, ADAPTER_ALPHA, &value, &now);
	adapters_refresh(model);
}

/* Log that the donor of a half states another alpha than is set; once for halves in a row. */
static void say_other_alpha(struct model *model, const char *name, float donors, float is)
{
	const struct adapter_scale of_donor = { .n = 1, .numbers = { (double)donors } };
	const struct adapter_scale in_force = { .n = 1, .numbers = { (double)is } };
	char says[ADAPTER_TEXT_MAX], has[ADAPTER_TEXT_MAX];

	if (donors == is || !adapters_note_alpha(model, donors))
		return;
	adapter_scale_print(&of_donor, says);
	adapter_scale_print(&in_force, has);
	log_add(model->log,
		DIRECTORY
		"%s.bin: its donor states alpha %.*s, but copied pairs have %.*s; to change "
		"it, write " DIRECTORY ADAPTERS_COPIED ".alpha",
		name, (int)strcspn(says, "\n"), says, (int)strcspn(has, "\n"), has);
}

void adapter_edit_learn_alpha(struct model *model, const char *name)
{
	struct content *content;
	uint32_t slot;
	float alpha, is;

	if (!adapters_apply(model) ||
	    !model_find_slot(model, CLASS_ADAPTERS, name, strlen(name), &slot))
		return;
	content = slots_get_own(model->slots, slot);
	alpha = content && !content_is_whiteout(content) ? donors_alpha(content->donor) : 0.0f;
	content_unref(content);
	if (alpha == 0.0f)
		return;
	if (adapters_copied_alpha(model, &is)) {
		say_other_alpha(model, name, alpha, is);
		return;
	}
	journal_begin(model);
	if (!adapters_copied_alpha(model, &is) && adapters_has_copied(model))
		set_alpha(model, alpha);
	journal_end(model);
}

void adapter_edit_forget_copied(struct model *model)
{
	static const struct layer_undone undone[] = {
		{ LAYER_ADAPTER, .name = ADAPTERS_COPIED ".alpha" },
		{ LAYER_ADAPTER, .name = ADAPTERS_COPIED ".scale" },
	};
	const size_t length = strlen(ADAPTERS_COPIED);
	const struct timespec never = { 0 };
	struct content *link;

	if (!adapters_apply(model) || adapters_has_copied(model))
		return;
	/* A linked adapter of that name keeps its scale. */
	link = adapters_link(model, ADAPTERS_COPIED, length);
	if (layer_undo(model->layer, undone, link ? 1 : 2) == 0) {
		adapters_set_value(model, ADAPTERS_COPIED, length, ADAPTER_ALPHA, NULL, &never);
		if (!link)
			adapters_set_value(model, ADAPTERS_COPIED, length, ADAPTER_SCALE, NULL,
					   &never);
	}
	content_unref(link);
}

static int recover_value(struct model *model, const struct layer_adapter *row,
			 enum adapter_file kind, size_t length)
{
	struct adapter_scale value;
	struct error err;
	int rc =
		row->text ? parse_value(row->text, strlen(row->text), kind, &value, &err) : -EINVAL;

	if (rc == 0)
		rc = adapters_reserve(model, row->file, length, kind, NULL);
	if (rc == 0)
		adapters_set_value(model, row->file, length, kind, &value, &row->mtime);
	return rc;
}

static int recover_link(struct model *model, const struct layer_adapter *row, size_t length)
{
	struct content *link = make_link(model, row->target, row->uid, row->gid, NULL, NOT_YET);
	int rc = link ? adapters_reserve(model, row->file, length, ADAPTER_GGUF, NULL) : -ENOMEM;

	if (rc < 0) {
		content_unref(link);
		return rc;
	}
	link->mtime = row->mtime;
	adapters_set_link(model, row->file, length, link, NULL);
	return 0;
}

static int recover_one(void *context, const struct layer_adapter *row, struct error *err)
{
	struct model *model = context;
	enum adapter_file kind;
	size_t length;
	int rc = -EINVAL;

	if ((adapters_apply(model) || adapters_is_importance(row->file)) &&
	    adapters_parse(row->file, &kind, &length) &&
	    (kind == ADAPTER_GGUF) == (row->target != NULL))
		rc = row->target ? recover_link(model, row, length)
				 : recover_value(model, row, kind, length);
	if (rc == -ENOMEM)
		return layer_unread(model->layer, ENOMEM, err);
	if (rc == 0)
		model->recovered++;
	else
		model_leave_alone(model, class_name(CLASS_ADAPTERS), row->file,
				  rc == -EINVAL ? "it is neither a link to an adapter nor a number"
						: strerror(-rc));
	return 0;
}

int adapter_edit_recover(struct model *model, struct error *err)
{
	const uint32_t before = model->recovered;
	const int rc = layer_each_adapter(model->layer, recover_one, model, err);

	/* Without rows of the layer, all slots stay the base's. */
	if (rc == 0 && (model->recovered > before || slots_generation(model->slots)))
		adapters_refresh(model);
	return rc;
}

/* Replace the link's content, if the adapter's link still equals was, with the commit lock held.
 * Uses up link and gguf. */
static void renew(struct model *model, const char *file, const struct content *was,
		  struct content *link, struct gguf *gguf)
{
	enum adapter_file kind;
	struct content *now;
	size_t length;

	adapters_parse(file, &kind, &length);
	now = adapters_link(model, file, length);
	if (now == was) {
		report_broken(model, file, link);
		adapters_set_link(model, file, length, link, gguf);
		journal_refresh(model);
	} else {
		content_unref(link);
		gguf_free(gguf);
	}
	content_unref(now);
}

/* Follow one link again. A file that does not fit leaves the link broken, with the new reason.
 * False: no answer. */
static bool look_again(struct model *model, const char *file, const struct content *was,
		       bool hurried)
{
	struct error err = { 0 };
	struct gguf *gguf;
	struct content *link =
		follow(model, file, was->target, was->uid, was->gid, hurried, &gguf, &err);
	char text[320];

	if (!link)
		link = make_link(model, was->target, was->uid, was->gid, NULL,
				 error_describe(&err, text, sizeof(text)));
	if (!link || (link->broken && strcmp(link->broken, was->broken) == 0)) {
		content_unref(link);
		return err.code != ETIMEDOUT;
	}
	link->mtime = was->mtime;
	journal_begin(model);
	renew(model, file, was, link, gguf);
	journal_end(model);
	return err.code != ETIMEDOUT;
}

bool adapter_edit_refresh(struct model *model, bool hurried)
{
	char file[NAME_MAX + 1];
	struct adapter_attr shown;
	bool silent = false;

	if (!adapters_broken(model))
		return false;
	for (uint64_t place = 0; adapters_next(model, &place, file, &shown); place++) {
		if (shown.link && shown.link->broken)
			silent |= !look_again(model, file, shown.link, hurried || silent);
		content_unref(shown.link);
	}
	return silent;
}
