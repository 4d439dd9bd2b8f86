/* SPDX-License-Identifier: MIT */
/* ops_xattr.c - extended attributes user.organfs.* that describe an organ. Attributes that need a
 * measurement or a hash are answered but not listed, so that a file manager that reads all listed
 * ones computes nothing.
 *
 * Security labels and ACLs get EOPNOTSUPP without any work: `ls -l` asks for them for every file,
 * and stops after the first such answer. */
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/type_edit.h"
#include "fs/fuse/ops.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/theta_text.h"
#include "fs/mount/mount.h"
#include "fs/mount/reply_buffers.h"
#include "fs/model/adapters.h"
#include "fs/model/slots.h"
#include "fs/mount/unmount_forecast.h"
#include "fs/mount/unmount_status.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/scratch_files.h"
#include "fs/util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define PREFIX "user.organfs."

/* Size of a buffer for one measured figure or hash. */
#define FIGURE_MAX 64

#define DIGEST_NAME "xxh128"

/* Attribute of the mount's root. While it is set, an unmount assembles nothing, as with the option
 * of that name. */
#define NO_ASSEMBLY "noassemble"

/* Answer with a value of n bytes, its length if size is 0, or the error -n. */
static void reply(fuse_req_t req, const char *value, int n, size_t size)
{
	if (n < 0)
		fuse_reply_err(req, -n);
	else if (size == 0)
		fuse_reply_xattr(req, (size_t)n);
	else if ((size_t)n > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value, (size_t)n);
}

/* Number of organs measured, or hashed, of the inode's model or of all models. */
static int count_value(struct mount *fs, const struct inode *inode, bool hashes, char *text,
		       size_t n)
{
	uint64_t count = 0;

	if (!family_of(inode)->root)
		return -ENODATA;
	for (uint32_t i = 0; i < fs->models->n; i++) {
		struct model_files *files = mount_model_files_at(fs, i);

		if (!inode->model || files->model == inode->model)
			count += hashes ? tensor_hashes_count(files->hashes)
					: memo_count(files->measures);
	}
	return snprintf(text, n, "%" PRIu64, count);
}

/* Path by which messages name the file; for a directory the beginning of such paths. */
static bool find_title(struct mount *fs, const struct inode *inode, char title[TITLE_MAX])
{
	const struct family *family = family_of(inode);

	*title = '\0';
	if (family->root)
		return true;
	if (family->title)
		family->title(&fs->tree, inode, title);
	else if (S_ISDIR(family->mode))
		tree_path(inode, title, TITLE_MAX);
	else if (family->write == WRITE_OBEYED || family->write == WRITE_ASSEMBLES)
		snprintf(title, TITLE_MAX, "%s", generated_name(inode->index));
	return *title != '\0';
}

/* Newest message on the file: cp prints no more of a refusal than "Invalid argument". */
static int message_value(struct mount *fs, const struct inode *inode, char *text, size_t n)
{
	char title[TITLE_MAX], *message = NULL;
	int length = -ENODATA;

	if (find_title(fs, inode, title))
		message = log_last(inode->model ? inode->model->log : fs->log, title);
	if (message)
		length = snprintf(text, n, "%.*s", (int)n - 1, message);
	free(message);
	return length;
}

/* Value of the attribute user.organfs.NAME: its length in text, or -errno. */
static int find_value(struct mount *fs, const struct inode *inode, const char *name, char *text,
		      size_t n)
{
	const struct family *family = family_of(inode);

	if (strcmp(name, "measured") == 0 || strcmp(name, "hashed") == 0)
		return count_value(fs, inode, strcmp(name, "hashed") == 0, text, n);
	if (strcmp(name, NO_ASSEMBLY) == 0)
		return inode->ino == FUSE_ROOT_ID && atomic_load(&fs->no_assembly)
			       ? snprintf(text, n, "1")
			       : -ENODATA;
	if (strcmp(name, "daemon") == 0)
		return family->root ? unmount_status_text(fs->status, text, n) : -ENODATA;
	if (strcmp(name, "error") == 0)
		return message_value(fs, inode, text, n);
	return family->attribute ? family->attribute(inode, name, text, n) : -ENODATA;
}

static ssize_t hash(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct subject subject = { async->inode->index, async->inode->content };
	const int rc = tensor_hashes_get(mount_model_files(fs, async->inode)->hashes, HASH_FILE,
					 &subject, &async->stop, async->text);

	return rc < 0 ? rc : (ssize_t)tensor_hash_width(HASH_FILE);
}

static ssize_t measure(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct subject subject = { async->inode->index, async->inode->content };
	struct zmeasure z;
	const int rc =
		memo_get(mount_model_files(fs, async->inode)->measures, &subject, &async->stop, &z);
	char value[FIGURE_MAX];
	int n;

	if (rc < 0)
		return rc == -ENOTSUP ? -ENODATA : rc;
	n = theta_figure(async->text, &z, value, sizeof(value));
	if (n >= 0)
		memcpy(async->text, value, (size_t)n);
	return n;
}

/* Mean weight of the slot's tensor in the importance matrix. */
static ssize_t weigh(struct async_request *async)
{
	const struct inode *inode = async->inode;
	struct importance_matrix *importance = adapters_importance(inode->model);
	const struct organ organ = model_organ_in_place(inode->model, inode->index, inode->content);
	double mean;
	const int rc = importance_matrix_mean(importance, &organ, &mean, NULL);

	importance_matrix_unref(importance);
	if (rc < 0)
		return rc;
	return isnan(mean) ? -ENODATA : snprintf(async->text, FIGURE_MAX, "%.9g", mean);
}

static ssize_t forecast(struct async_request *async)
{
	return unmount_forecast_print(async->fs, async->inode->model, async->text,
				      UNMOUNT_FORECAST_MAX);
}

/* The way in which the file is read; asks the disk if that is undecided. */
static ssize_t find_way(struct async_request *async)
{
	static const char *const words[] = { [READ_BY_DAEMON] = "daemon",
					     [READ_PASSTHROUGH] = "passthrough",
					     [READ_SNAPSHOT] = "snapshot" };

	return snprintf(async->text, FIGURE_MAX, "%s",
			words[ops_read_way(async->fs, async->inode)]);
}

static void reply_figure(struct async_request *async, ssize_t result)
{
	inodes_put(mount_of(async->req)->inodes, async->inode);
	reply(async->req, async->text, (int)result, async->size);
}

static ssize_t (*figure_of(const struct inode *inode, const char *name))(struct async_request *)
{
	const struct family *family = family_of(inode);

	if (family->root && strcmp(name, "unmount") == 0)
		return forecast;
	if ((family->is_organ || family->is_copy) && strcmp(name, "read") == 0)
		return find_way;
	if (family->is_organ && strcmp(name, DIGEST_NAME) == 0)
		return hash;
	if (family->is_organ && strcmp(name, "importance") == 0)
		return weigh;
	return family->is_organ && theta_is_figure(name) ? measure : NULL;
}

static void get_figure(fuse_req_t req, struct inode *inode, const char *name, size_t size)
{
	const bool is_root = family_of(inode)->root;
	struct async_request *async = async_new(req, inode, figure_of(inode, name), NULL,
						is_root ? UNMOUNT_FORECAST_MAX : FIGURE_MAX);

	if (!async)
		return;
	async->reply = reply_figure;
	async->size = size;
	snprintf(async->text, FIGURE_MAX, "%s", name);
	/* The forecast asks disks alone, and is not to wait for those who measure. */
	async_submit(async, is_root ? async->fs->opens : mount_measured_reads(async->fs, inode));
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct mount *fs = mount_of(req);
	struct inode *inode;
	char *buffer;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
		fuse_reply_err(req, strncmp(name, "user.", 5) == 0 ? ENODATA : EOPNOTSUPP);
		return;
	}
	name += strlen(PREFIX);
	inode = inodes_get(fs->inodes, ino);
	if (inode && figure_of(inode, name)) {
		get_figure(req, inode, name, size);
		return;
	}
	buffer = reply_buffers_get(fs->buffers);
	if (inode && buffer)
		reply(req, buffer, find_value(fs, inode, name, buffer, REPLY_BUFFER_SIZE), size);
	else
		fuse_reply_err(req, inode ? ENOMEM : ESTALE);
	reply_buffers_put(fs->buffers, buffer);
	inodes_put(fs->inodes, inode);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = inodes_get(fs->inodes, ino);
	char *buffer = reply_buffers_get(fs->buffers), names[256];
	const char *const *listed = inode ? family_of(inode)->attributes : NULL;
	int n = 0;

	if (!inode || !buffer) {
		fuse_reply_err(req, inode ? ENOMEM : ESTALE);
	} else {
		for (; listed && *listed; listed++)
			if (find_value(fs, inode, *listed, buffer, REPLY_BUFFER_SIZE) >= 0)
				n += sprintf(names + n, PREFIX "%s", *listed) + 1;
		reply(req, names, n, size);
	}
	reply_buffers_put(fs->buffers, buffer);
	inodes_put(fs->inodes, inode);
}

static ssize_t set_type(struct async_request *async)
{
	const struct value_type *type = (struct value_type *)(void *)async->text;

	return metadata_edit_set_type(async->inode->model, async->inode->index, *type);
}

static bool is_in_metadata(struct mount *fs, const struct inode *inode)
{
	char name[NAME_MAX + 1];
	uint64_t directory;

	return !family_of(inode)->scratch ||
	       (scratch_files_name(fs->scratches, inode, &directory, name) &&
		tree_is_metadata(directory));
}

/* Set the type of a key, or of a file that is to become one. Answers the request and releases the
 * inode; a change of a key waits for the disk. */
static void set_key_type(fuse_req_t req, struct inode *inode, const char *value, size_t n)
{
	struct mount *fs = mount_of(req);
	char title[TITLE_MAX];
	struct value_type type;
	struct async_request *async;
	int rc = 0;

	if (!is_in_metadata(fs, inode)) {
		rc = 0;
	} else if (!tree_can_graft(&fs->tree, inode->model)) {
		rc = -EROFS;
	} else if (!value_type_parse(value, n, &type)) {
		/* A key of .base has no title. */
		if (find_title(fs, inode, title))
			log_add(inode->model->log,
				"%s: refused: \"%.*s\" is not a type of metadata; the key keeps "
				"its value",
				title, (int)(n < 60 ? n : 60), value);
		rc = -EINVAL;
	} else if (inode->stage && stage_has_ended(inode->stage)) {
		rc = -ESTALE;
	} else if (inode->stage) {
		stage_set_type(inode->stage, STAGE_WANTED, type);
	} else if (family_of(inode)->is_fixed(inode)) {
		rc = -EPERM;
	} else {
		async = async_new(req, inode, set_type, &type, sizeof(type));
		if (async)
			async_submit(async, fs->commits);
		return;
	}
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, -rc);
}

static ssize_t choose_type(struct async_request *async)
{
	struct type_choice choice = { async->inode->index, TYPE_EDIT_OWN };

	memcpy(&choice.type, async->text, sizeof(choice.type));
	if (choice.type == TYPE_EDIT_OWN &&
	    !slots_type(async->inode->model->slots, choice.slot).is_set)
		return -ENODATA;
	return type_edit_choose(async->inode->model, &choice, 1);
}

/* Choose the type of a slot; answers the request and releases the inode. Waits for the disk. */
static void choose_organ_type(fuse_req_t req, struct inode *inode, uint32_t type)
{
	struct mount *fs = mount_of(req);
	struct async_request *async;

	if (tree_can_graft(&fs->tree, inode->model)) {
		async = async_new(req, inode, choose_type, &type, sizeof(type));
		if (async)
			async_submit(async, fs->commits);
		return;
	}
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, EROFS);
}

static void set_organ_type(fuse_req_t req, struct inode *inode, const char *value, size_t n)
{
	char title[TITLE_MAX];
	uint32_t type;

	if (type_by_name(value, n, &type)) {
		choose_organ_type(req, inode, type);
		return;
	}
	find_title(mount_of(req), inode, title);
	log_add(inode->model->log,
		"%s: type refused: \"%.*s\": ggml has no such type; nothing is changed", title,
		(int)(n < 60 ? n : 60), value);
	inodes_put(mount_of(req)->inodes, inode);
	fuse_reply_err(req, EINVAL);
}

/* Set the attribute of the mount, or without a value remove it. Returns 0 or -errno as
 * setxattr(2). */
static int set_no_assembly(struct mount *fs, const struct inode *inode, const char *value, size_t n,
			   int flags)
{
	const bool is_set = atomic_load(&fs->no_assembly);

	if (inode->ino != FUSE_ROOT_ID || (value && (n != 1 || *value != '1'))) {
		log_add(fs->log, PREFIX NO_ASSEMBLY ": refused: it can only be 1 or removed, on "
						    "the root of the mount");
		return inode->ino == FUSE_ROOT_ID ? -EINVAL : -EPERM;
	}
	if (is_set ? flags & XATTR_CREATE : !value || flags & XATTR_REPLACE)
		return is_set ? -EEXIST : -ENODATA;
	atomic_store(&fs->no_assembly, value != NULL);
	return 0;
}

/* Is the attribute that of a mount's or a model's root? Then answer the request, and release the
 * inode. */
static bool answer_no_assembly(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			       size_t n, int flags)
{
	struct mount *fs = mount_of(req);
	struct inode *inode =
		strcmp(name, PREFIX NO_ASSEMBLY) == 0 ? inodes_get(fs->inodes, ino) : NULL;
	const bool is = inode && family_of(inode)->root;

	if (is)
		fuse_reply_err(req, -set_no_assembly(fs, inode, value, n, flags));
	inodes_put(fs->inodes, inode);
	return is;
}

/* Attributes copied from another organ are accepted and ignored, since the organ's header describes
 * it. A key's bytes do not tell its type, so the attribute sets the type. */
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags)
{
	struct mount *fs = mount_of(req);
	struct inode *inode;

	if (answer_no_assembly(req, ino, name, value, size, flags))
		return;
	if (strcmp(name, PREFIX "type") == 0) {
		inode = inodes_get(fs->inodes, ino);
		if (inode && family_of(inode)->type) {
			set_key_type(req, inode, value, size);
			return;
		}
		if (inode && family_of(inode)->slot) {
			set_organ_type(req, inode, value, size);
			return;
		}
		inodes_put(fs->inodes, inode);
	}
	fuse_reply_err(req, strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? 0 : EOPNOTSUPP);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = NULL;

	if (answer_no_assembly(req, ino, name, NULL, 0, 0))
		return;
	if (strcmp(name, PREFIX "type") == 0)
		inode = inodes_get(fs->inodes, ino);
	if (inode && family_of(inode)->slot) {
		choose_organ_type(req, inode, TYPE_EDIT_OWN);
		return;
	}
	inodes_put(fs->inodes, inode);
	fuse_reply_err(req, strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? EPERM : EOPNOTSUPP);
}
