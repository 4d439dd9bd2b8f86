/* SPDX-License-Identifier: MIT */
/* ops_dir.c - directory listings. An entry's place in the directory is its offset. */
#include "fs/fuse/ops.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/mount/reply_buffers.h"
#include "fs/mount/shard_watch.h"
#include "fs/tree/family.h"

#include <errno.h>
#include <stdio.h>

/* A listing continues in the model in which it began. */
static void open_directory(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct mount *fs = mount_of(req);
	struct inode *directory = inodes_get(fs->inodes, ino);

	fi->fh = directory && directory->model ? directory->model->number : 0;
	inodes_put(fs->inodes, directory);

	/* Grafts and new shards change the inode numbers in the list. */
	fi->cache_readdir = fs->options->read_only && mount_is_complete(fs);
	fi->keep_cache = fi->cache_readdir;
	fuse_reply_open(req, fi);
}

/* A listing of a root includes the shards that have come since. */
static ssize_t look_for_shards(struct async_request *async)
{
	shard_watch_check(mount_of(async->req), false);
	return 0;
}

static void reply_opendir(struct async_request *async, ssize_t result)
{
	struct fuse_file_info *fi = (struct fuse_file_info *)async->text;

	(void)result;
	open_directory(async->req, async->offset, fi);
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct inode *directory = mount_is_complete(fs) ? NULL : inodes_get(fs->inodes, ino);
	struct async_request *async;

	if (!directory || !family_of(directory)->root) {
		open_directory(req, ino, fi);
	} else {
		async = async_new(req, NULL, look_for_shards, fi, sizeof(*fi));
		if (async) {
			async->offset = ino;
			async->reply = reply_opendir;
			async_submit(async, fs->shard_checks);
		}
	}
	inodes_put(fs->inodes, directory);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, 0);
}

/* Each confirmed change is durable already. */
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fuse_reply_err(req, 0);
}

/* The entry at *place or the next one after it; *place becomes the place of that entry. */
static bool list_entry(struct mount *fs, const struct inode *directory, uint64_t *place,
		       struct listed *entry)
{
	const struct family *family = family_of(directory);
	uint64_t after = *place - 2;
	bool found;

	*entry = (struct listed){ .ino = directory->ino, .type = S_IFDIR };
	if (*place < 2) {
		snprintf(entry->name, sizeof(entry->name), *place == 0 ? "." : "..");
		if (*place == 1)
			entry->ino = tree_parent(&fs->tree, directory);
		return true;
	}
	found = family->list && family->list(&fs->tree, directory, &after, entry);
	*place = after + 2;
	return found;
}

static size_t add_plain(fuse_req_t req, char *buffer, size_t left, const struct listed *entry,
			uint64_t place)
{
	const struct stat attr = { .st_ino = entry->ino, .st_mode = entry->type };

	return fuse_add_direntry(req, buffer, left, entry->name, &attr, (off_t)(place + 1));
}

/* Add organs and θ files with attributes, other entries by name alone (number 0: no attributes). */
static size_t add_plus(fuse_req_t req, char *buffer, size_t left, const struct listed *entry,
		       uint64_t place)
{
	struct mount *fs = mount_of(req);
	struct fuse_entry_param param = { .attr = { .st_ino = entry->ino,
						    .st_mode = entry->type } };
	struct inode *inode = NULL;
	size_t size;
	int rc;

	if (entry->known)
		inode = inodes_organ(fs->inodes, entry->family, entry->model, entry->tensor, &rc);
	if (inode)
		param = ops_entry(fs, inode);
	size = fuse_add_direntry_plus(req, buffer, left, entry->name, &param, (off_t)(place + 1));
	if (inode && size <= left)
		inodes_count_lookup(fs->inodes, inode);
	inodes_put(fs->inodes, inode);
	return size;
}

static void list(fuse_req_t req, fuse_ino_t ino, uint64_t model, size_t size, off_t offset,
		 size_t (*add)(fuse_req_t, char *, size_t, const struct listed *, uint64_t))
{
	struct mount *fs = mount_of(req);
	struct inode *directory = inodes_get(fs->inodes, ino);
	char *buffer = reply_buffers_get(fs->buffers);
	struct listed entry;
	size_t used = 0;

	if (directory && directory->model)
		directory->model = fs->model_files[model].model;
	if (size > REPLY_BUFFER_SIZE)
		size = REPLY_BUFFER_SIZE;
	for (uint64_t place = (uint64_t)offset; directory && buffer; place++) {
		size_t n;

		if (!list_entry(fs, directory, &place, &entry))
			break;
		n = add(req, buffer + used, size - used, &entry, place);
		if (n > size - used)
			break;
		used += n;
	}
	if (directory && buffer)
		fuse_reply_buf(req, buffer, used);
	else
		fuse_reply_err(req, directory ? ENOMEM : ESTALE);
	reply_buffers_put(fs->buffers, buffer);
	inodes_put(fs->inodes, directory);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		struct fuse_file_info *fi)
{
	list(req, ino, fi->fh, size, offset, add_plain);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	list(req, ino, fi->fh, size, offset, add_plus);
}
