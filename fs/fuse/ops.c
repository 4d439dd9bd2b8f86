/* SPDX-License-Identifier: MIT */
/* ops.c - see ops.h: the whole surface, and what inodes look like from outside. */
#include "fs/fuse/ops.h"
#include "fs/fuse/ops_views.h"
#include "fs/lazy/theta_text.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <string.h>

/* Since libfuse 3.17 the fields of what the kernel can do, and is asked for, have 64 bits and are
 * set by functions; those of 32 bits are there for old programs. What the kernel cannot do is not
 * asked for. */
static void ask_for(struct fuse_conn_info *connection, uint64_t features)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	fuse_set_feature_flag(connection, features);
#else
	connection->want |= connection->capable & (uint32_t)features;
#endif
}

static void do_without(struct fuse_conn_info *connection, uint64_t features)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	fuse_unset_feature_flag(connection, features);
#else
	connection->want &= ~(uint32_t)features;
#endif
}

static void op_init(void *userdata, struct fuse_conn_info *connection)
{
	const struct mount *fs = userdata;

	/* Reads with O_DIRECT that the kernel makes in the background are never interrupted: nobody
	 * could kill who reads from a disk that hangs. */
	do_without(connection, FUSE_CAP_ASYNC_DIO);
	/* With ATOMIC_O_TRUNC the kernel empties the pages of an inode at open(), and whoever maps
	 * it gets a SIGBUS. Pages stay valid whatever the times say: contents do not change. */
	do_without(connection, FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA);
	ask_for(connection, FUSE_CAP_EXPLICIT_INVAL_DATA);
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
	/* Shared maps of what is made when it is read. */
	ask_for(connection, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
#endif
	/* Where names are asked for every time, attributes in a listing are thrown away. */
	if (!fs->options->read_only)
		do_without(connection, FUSE_CAP_READDIRPLUS);
	do_without(connection, FUSE_CAP_READDIRPLUS_AUTO);
	/* The kernel sends no more pages to be read ahead while so many are not answered, whatever
	 * file they are of. Those of a disk that hangs wait for long. */
	connection->max_background = 4096;
	connection->congestion_threshold = 3072;
}

const struct fuse_lowlevel_ops organfs_ops = {
	.init = op_init,

	.readlink = op_readlink,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.statfs = op_statfs,

	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,

	.open = op_open,
	.create = op_create,
	.read = op_read,
	.release = op_release,
	.copy_file_range = op_copy_file_range,

	.write = op_write,
	.flush = op_flush,
	.fsync = op_fsync,

	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,

	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
};

bool ops_is_directory(const struct inode *inode)
{
	return inode->kind == NODE_MODELS || inode->kind == NODE_ROOT ||
	       inode->kind == NODE_CLASS || inode->kind == NODE_BASE ||
	       inode->kind == NODE_BASE_CLASS || inode->kind == NODE_METADATA ||
	       inode->kind == NODE_BASE_METADATA || inode->kind == NODE_VIEWS ||
	       ops_is_view_directory(inode);
}

bool ops_is_link(const struct inode *inode)
{
	return inode->kind == NODE_LINK || inode->kind == NODE_SCRATCH_LINK ||
	       inode->kind == NODE_ADAPTER;
}

bool ops_discards_writes(const struct inode *inode)
{
	return inode->kind == NODE_THETA || inode->kind == NODE_SINK ||
	       (inode->kind == NODE_GENERATED && inode->index != GENERATED_ASSEMBLE &&
		inode->index != GENERATED_UNDO &&
		(inode->index < GENERATED_IN_ROOT || inode->index >= GENERATED_TABLES));
}

bool ops_can_graft(const struct mount *fs, const struct model *model)
{
	return !fs->options->read_only && (!model || model->whole);
}

/* Is it a file to write to, in a mount that takes writes? The mode says the same in one that takes
 * none, as on disks: copies can be changed, and rsync sees no difference. */
static bool is_for_writing(const struct inode *inode)
{
	if (inode->kind == NODE_GENERATED && inode->index == GENERATED_ASSEMBLE)
		return true;
	if (inode->kind == NODE_KEY)
		return !metadata_key(inode->model->metadata, inode->index).fixed;
	if (inode->kind == NODE_SETTING)
		return adapters_apply(inode->model);
	return inode->kind == NODE_ORGAN || inode->kind == NODE_EXPERT || inode->stage ||
	       ops_discards_writes(inode) || ops_is_undo(inode);
}

static uint64_t key_size(const struct inode *inode)
{
	struct metadata_entry *metadatum = inodes_metadatum(inode);
	uint64_t size = 0;

	/* What cannot be read has no bytes; who opens it is told. */
	if (metadatum)
		metadata_entry_size(metadatum, &size);
	metadata_entry_unref(metadatum);
	return size;
}

static uint64_t size_of(struct inode *inode)
{
	switch (inode->kind) {
	case NODE_ORGAN:
	case NODE_BASE_ORGAN:
		return organ_file_size(inode->model, inode->index, inode->content);
	case NODE_STAGE:
	case NODE_SCRATCH:
	case NODE_KEY_STAGE:
	case NODE_SETTING_STAGE:
	case NODE_EXPERT_STAGE:
		return stage_size(inode->stage);
	case NODE_FORMED:
	case NODE_EXPERT:
		return ops_view_size(inode);
	case NODE_LINK:
	case NODE_SCRATCH_LINK:
	case NODE_ADAPTER:
		return strlen(inode->content->target);
	case NODE_THETA:
		return THETA_FILE_SIZE;
	case NODE_GENERATED:
	case NODE_SETTING:
	case NODE_SINK:
		return view_size(inode->view);
	case NODE_KEY:
	case NODE_BASE_KEY:
		return key_size(inode);
	case NODE_METADATA:
	case NODE_BASE_METADATA:
	case NODE_MODELS:
	case NODE_ROOT:
	case NODE_CLASS:
	case NODE_BASE:
	case NODE_BASE_CLASS:
	case NODE_VIEWS:
	case NODE_FORM:
	case NODE_FORM_CLASS:
	case NODE_EXPERTS:
		break;
	}
	return 0;
}

/* Whoever writes to a key, and looks whether it is still the same file, finds that it is: editors
 * do so. The kernel goes by the inode's number. */
static uint64_t shown_ino(const struct inode *inode)
{
	return inode->kind == NODE_KEY || inode->kind == NODE_KEY_STAGE ||
			       inode->kind == NODE_SETTING || inode->kind == NODE_SETTING_STAGE
		       ? ops_slot_number(inode)
		       : inode->ino;
}

unsigned ops_directory_number(const struct inode *inode)
{
	return inode->kind == NODE_METADATA ? MODEL_METADATA : inode->index;
}

/* Is it a directory that has another time with each graft? */
static bool is_of_grafts(const struct mount *fs, const struct inode *inode)
{
	return (inode->kind == NODE_CLASS || inode->kind == NODE_METADATA) &&
	       ops_can_graft(fs, inode->model);
}

double ops_attributes(struct mount *fs, struct inode *inode, struct stat *attr)
{
	const bool directory = ops_is_directory(inode);
	const bool fixed = inode->kind == NODE_BASE || inode->kind == NODE_BASE_CLASS ||
			   inode->kind == NODE_BASE_METADATA || inode->kind == NODE_MODELS ||
			   inode->kind == NODE_VIEWS || ops_is_view_directory(inode);
	const mode_t mode = fixed		    ? S_IFDIR | 0555
			    : directory		    ? S_IFDIR | 0777
			    : is_for_writing(inode) ? S_IFREG | 0666
						    : S_IFREG | 0444;
	const uint64_t size = size_of(inode);

	memset(attr, 0, sizeof(*attr));
	attr->st_ino = shown_ino(inode);
	attr->st_mode = ops_is_link(inode) ? S_IFLNK | 0777 : mode & ~fs->options->umask;
	attr->st_nlink = inode->kind == NODE_MODELS ? 2 + fs->models->n
			 : inode->kind == NODE_ROOT ? 3 + CLASSES
			 : directory		    ? 2
						    : 1;
	attr->st_uid = fs->options->uid;
	attr->st_gid = fs->options->gid;
	attr->st_size = (off_t)size;
	attr->st_blksize = 4096;
	/* The bytes of model.gguf are the organs' once more, so that du would count a model twice.
	 * One block is counted: GNU tar --sparse stores a file without blocks as zeros, unread. */
	attr->st_blocks = (blkcnt_t)((size + 511) / 512);
	if (inode->kind == NODE_GENERATED && inode->index == GENERATED_MODEL && size)
		attr->st_blocks = 1;
	attr->st_mtim = inode->stage ? stage_mtime(inode->stage) : inode->mtime;
	if (is_of_grafts(fs, inode))
		attr->st_mtim = model_directory_time(inode->model, ops_directory_number(inode));
	attr->st_atim = attr->st_ctim = attr->st_mtim;
	return inode->stage || is_of_grafts(fs, inode) ? 0 : FOREVER;
}

bool ops_is_listed_class(struct model *model, enum organ_class klass)
{
	return klass <= CLASS_NORM || model_class_count(model, klass);
}

/* In the root of several models their directories, and some files. */
static struct inode *find_in_models(struct mount *fs, const char *name, int *rc)
{
	struct model *model = models_root_find(fs->overview, name);

	return model ? inodes_get(fs->inodes, inodes_root_ino(fs->inodes, model))
		     : models_root_inode(fs->overview, name, rc);
}

/* Is the file of that name, from number first up to end, not made yet, and not of memory alone? */
static bool is_unmade(struct mount *fs, const struct inode *directory, enum generated_kind first,
		      enum generated_kind end, const char *name)
{
	for (enum generated_kind kind = first; kind < end; kind++)
		if (strcmp(name, generated_name(kind)) == 0)
			return kind != GENERATED_LOG && kind != GENERATED_GRAFTS &&
			       kind != GENERATED_ASSEMBLE &&
			       !generated_is_made(mount_model_files(fs, directory)->generated,
						  kind);
	return false;
}

bool ops_may_block(struct mount *fs, const struct inode *directory, const char *name)
{
	switch (directory->kind) {
	case NODE_ROOT:
		return is_unmade(fs, directory, 0, GENERATED_IN_ROOT, name);
	case NODE_VIEWS:
		return is_unmade(fs, directory, GENERATED_IN_ROOT, GENERATED_IN_VIEWS, name);
	case NODE_CLASS:
		return strcmp(name, ".theta") == 0 &&
		       !generated_is_made(mount_model_files(fs, directory)->generated,
					  GENERATED_TABLES + directory->index);
	case NODE_METADATA:
	case NODE_BASE_METADATA:
		return ops_key_may_block(directory, name);
	default:
		return false;
	}
}

/* Of the files from number first up to end. */
static struct inode *find_generated(struct mount *fs, const struct inode *directory,
				    enum generated_kind first, enum generated_kind end,
				    const char *name, int *rc)
{
	for (enum generated_kind kind = first; kind < end; kind++)
		if (strcmp(name, generated_name(kind)) == 0)
			return generated_inode(mount_model_files(fs, directory)->generated, kind,
					       rc);
	return NULL;
}

/* Adapters can be put where none are. */
static bool is_there(struct mount *fs, struct model *model, enum organ_class klass)
{
	return ops_is_listed_class(model, klass) ||
	       (klass == CLASS_ADAPTERS && (ops_can_graft(fs, model) || adapters_any(model)));
}

static struct inode *find_in_root(struct mount *fs, const struct inode *root, const char *name,
				  int *rc)
{
	struct inode *inode;

	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (strcmp(name, class_name(klass)) == 0 && is_there(fs, root->model, klass))
			return inodes_get(fs->inodes,
					  inode_of_directory(root->model, INODE_CLASS, klass));
	if (strcmp(name, "metadata") == 0)
		return inodes_get(fs->inodes, inode_of_directory(root->model, INODE_METADATA, 0));
	if (strcmp(name, ".base") == 0)
		return inodes_get(fs->inodes, inode_of_directory(root->model, INODE_BASE, 0));
	if (strcmp(name, ".views") == 0)
		return inodes_get(fs->inodes, inode_of_directory(root->model, INODE_VIEWS, 0));
	inode = find_generated(fs, root, 0, GENERATED_IN_ROOT, name, rc);
	if (!inode)
		scratch_files_find(fs->scratches, root->ino, name, &inode);
	return inode;
}

/* NAME.bin, NAME.theta and .theta of what the model has. */
static struct inode *find_slot(struct mount *fs, const struct inode *directory, const char *name,
			       int *rc)
{
	const char *ending = strrchr(name, '.');
	enum node_kind kind = NODE_ORGAN;
	struct inode *inode;
	uint32_t tensor;

	if (!ending)
		return NULL;
	if (ops_is_adapter_name(directory->ino, name))
		return ops_find_adapter(fs, directory, name, rc);
	if (strcmp(ending, ".theta") == 0)
		kind = NODE_THETA;
	else if (strcmp(ending, ".bin") != 0)
		return NULL;
	if (ending == name && kind == NODE_THETA)
		return generated_inode(mount_model_files(fs, directory)->generated,
				       GENERATED_TABLES + directory->index, rc);
	if (!model_find_slot(directory->model, directory->index, name, (size_t)(ending - name),
			     &tensor))
		return NULL;
	inode = inodes_organ(fs->inodes, kind, directory->model, tensor, rc);
	/* With `rm *` an organ goes first, and rm still wants to find its θ file. */
	if (!inode && *rc == -ENOENT && kind == NODE_THETA && ops_can_graft(fs, directory->model))
		inode = ops_make_sink(fs, directory->model);
	return inode;
}

/* What the model has comes before what somebody writes under that name. */
static struct inode *find_in_class(struct mount *fs, const struct inode *directory,
				   const char *name, int *rc)
{
	struct inode *scratch = NULL, *slot = NULL;
	const enum scratch_kind kind =
		scratch_files_find(fs->scratches, directory->ino, name, &scratch);

	if (kind != SCRATCH_HIDDEN)
		slot = find_slot(fs, directory, name, rc);
	if (!slot)
		return scratch;
	inodes_put(fs->inodes, scratch);
	return slot;
}

/* In .base there are the classes and the picture, and in the classes what the base has. */
static struct inode *find_in_base(struct mount *fs, const struct inode *directory, const char *name,
				  int *rc)
{
	const uint32_t number = directory->model->number;
	const char *ending = strrchr(name, '.');
	uint32_t tensor;

	if (directory->kind == NODE_BASE) {
		for (enum organ_class klass = 0; klass < CLASSES; klass++)
			if (strcmp(name, class_name(klass)) == 0 &&
			    ops_is_listed_class(directory->model, klass))
				return inodes_get(fs->inodes,
						  inode_of_directory(directory->model,
								     INODE_BASE_CLASS, klass));
		if (strcmp(name, "metadata") == 0)
			return inodes_get(fs->inodes, inode_of_directory(directory->model,
									 INODE_BASE_METADATA, 0));
		return find_generated(fs, directory, GENERATED_IN_VIEWS, GENERATED_IN_BASE, name,
				      rc);
	}
	if (!ending ||
	    !model_find_slot(directory->model, directory->index, name, (size_t)(ending - name),
			     &tensor) ||
	    tensor >= directory->model->gguf->n_tensors)
		return NULL;
	if (strcmp(ending, ".bin") == 0)
		return inodes_get(fs->inodes, inode_of(number, INODE_BASE_ORGAN, tensor));
	return strcmp(ending, ".theta") == 0
		       ? inodes_get(fs->inodes,
				    inode_of(number, INODE_BASE_ORGAN, INODE_BASE_THETA | tensor))
		       : NULL;
}

uint64_t ops_slot_number(const struct inode *inode)
{
	const bool key = inode->kind == NODE_KEY || inode->kind == NODE_KEY_STAGE;

	if (inode->kind == NODE_EXPERT || inode->kind == NODE_EXPERT_STAGE)
		return inode_of_expert(inode->model, inode->index, inode->part);
	/* No key has such a number. */
	if (inode->kind == NODE_SETTING || inode->kind == NODE_SETTING_STAGE)
		return inode_of(inode->model->number, INODE_KEY, (uint64_t)1 << 39 | inode->index);
	return inode_of(inode->model->number, key ? INODE_KEY : INODE_ORGAN, inode->index);
}

size_t ops_slot_name(const char *name)
{
	const size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".bin") == 0 ? n - 4 : 0;
}

struct inode *ops_find(struct mount *fs, const struct inode *directory, const char *name, int *rc)
{
	struct inode *inode;

	*rc = -ENOENT;
	switch (directory->kind) {
	case NODE_MODELS:
		return find_in_models(fs, name, rc);
	case NODE_ROOT:
		return find_in_root(fs, directory, name, rc);
	case NODE_CLASS:
		return find_in_class(fs, directory, name, rc);
	case NODE_BASE:
	case NODE_BASE_CLASS:
		return find_in_base(fs, directory, name, rc);
	case NODE_METADATA:
	case NODE_BASE_METADATA:
		return ops_find_key(fs, directory, name, rc);
	case NODE_VIEWS:
		inode = find_generated(fs, directory, GENERATED_IN_ROOT, GENERATED_IN_VIEWS, name,
				       rc);
		return inode ? inode : ops_find_in_views(fs, directory, name, rc);
	case NODE_FORM:
	case NODE_FORM_CLASS:
	case NODE_EXPERTS:
		return ops_find_in_views(fs, directory, name, rc);
	default:
		return NULL;
	}
}

double ops_entry_timeout(const struct mount *fs, const struct inode *inode)
{
	const bool whole = !inode->model || inode->model->whole;

	/* A directory of experts goes when its slot is emptied. */
	if ((ops_is_directory(inode) && inode->kind != NODE_EXPERTS) ||
	    (whole && (inode->kind == NODE_BASE_ORGAN || inode->kind == NODE_BASE_KEY)))
		return FOREVER;
	/* The log goes on in a read-only mount too. */
	if (!fs->options->read_only ||
	    (inode->kind == NODE_GENERATED && inode->index == GENERATED_LOG))
		return 0;
	/* Shards may come. */
	return (inode->model ? whole : mount_is_complete(fs)) ? FOREVER : 0;
}
