/* SPDX-License-Identifier: MIT */
/* ops_write.c - writes: organs into a stage, file names into .assemble, θ files discarded, so that
 * a whole directory of organs can be copied in. Commits, undos and assemblies wait for the disk, so
 * they run in pools and reply from there. */
#include "fs/base/donor.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/symlinks.h"
#include "fs/files/assembly.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/pollers.h"
#include "fs/layer/layer.h"
#include "fs/metadata/metadata.h"
#include "fs/mount/mount.h"
#include "fs/paths/write_source.h"
#include "fs/storage/page_trail.h"
#include "fs/storage/read_threads.h"
#include "fs/tree/family.h"
#include "fs/tree/file_name.h"
#include "fs/tree/generated.h"
#include "fs/tree/name_locks.h"
#include "fs/tree/open_files.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/tree/written_words.h"
#include "fs/util/credentials.h"
#include "fs/util/fifo_lock.h"
#include "fs/util/in_flight.h"
#include "fs/util/log.h"
#include "fs/util/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reply_write(fuse_req_t req, ssize_t rc, size_t size)
{
	if (rc < 0)
		fuse_reply_err(req, (int)-rc);
	else
		fuse_reply_write(req, size);
}

static void reply_written(struct async_request *async, ssize_t result)
{
	reply_write(async->req, result, async->size);
}

static ssize_t assemble(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct open_file *handle = async->handle;
	const bool forced = async->text[0] == '!';
	struct credentials before;
	int rc = fifo_lock_acquire(fs->assembly_lock, &async->stop);

	if (rc < 0)
		return rc;
	symlinks_refresh(fs->links, handle->inode->model);
	rc = credentials_assume(handle->uid, handle->gid, &before);
	if (rc == 0) {
		rc = assembly_run(mount_model_files(fs, handle->inode)->assembly,
				  async->text + forced, forced ? REPLACE_ANY : REPLACE_MARKED,
				  fuse_req_ctx(async->req)->pid, &async->stop);
		credentials_restore(&before);
	}
	fifo_lock_release(fs->assembly_lock);
	return rc;
}

/* Each write is one file name, as in sysfs. echo's newline is not part of the name. A leading !
 * allows any existing file of that name to be replaced. */
static void write_assemble(fuse_req_t req, struct open_file *handle, const char *bytes, size_t size)
{
	struct async_request *async;
	size_t n = size;

	/* The text of an .assemble that was copied from this mount or another one. */
	if (assembly_is_status(bytes, size)) {
		fuse_reply_write(req, size);
		return;
	}
	if (n && bytes[n - 1] == '\n')
		n--;
	if (n >= PATH_MAX) {
		fuse_reply_err(req, ENAMETOOLONG);
		return;
	}
	if (memchr(bytes, '\0', n) || memchr(bytes, '\n', n)) {
		log_add(handle->inode->model->log,
			".assemble: refused: one write is one file name, "
			"and this one has a line break or a NUL in it");
		fuse_reply_err(req, EINVAL);
		return;
	}
	async = async_new(req, NULL, assemble, bytes, n);
	if (!async)
		return;
	async->handle = handle;
	async->reply = reply_written;
	async->size = size;
	async_submit(async, mount_of(req)->assemblies);
}

static ssize_t write_bytes(struct mount *fs, struct inode *inode, const char *bytes, size_t size,
			   uint64_t offset)
{
	const int rc = stage_write(inode->stage, bytes, size, offset);
	char name[TITLE_MAX];

	if (rc == 0)
		return 0;
	family_of(inode)->title(&fs->tree, inode, name);
	log_add(inode->model->log, "%s: cannot be staged in %s: %s; nothing is changed", name,
		layer_path(inode->model->layer), strerror(-rc));
	return rc;
}

static ssize_t write_first(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	const struct open_file *handle = async->handle;
	struct inode *inode = handle->inode;

	stage_set_trace(inode->stage, write_source_begin(fs->tracer, fuse_req_ctx(async->req)->pid,
							 handle->uid, handle->gid));
	return write_bytes(fs, inode, async->text, async->size, async->offset);
}

/* List the writer's open files, to find the donor, in a job before the first write is answered. */
static void write_first_async(fuse_req_t req, struct open_file *handle, const char *bytes,
			      size_t size, off_t offset)
{
	struct async_request *async = async_new(req, NULL, write_first, bytes, size);

	if (!async)
		return;
	async->reply = reply_written;
	async->handle = handle;
	async->size = size;
	async->offset = (uint64_t)offset;
	async_submit(async, mount_of(req)->first_writes);
}

bool ops_can_write(struct mount *fs, const struct inode *inode)
{
	char name[TITLE_MAX];

	if (!inode->stage || !stage_has_ended(inode->stage))
		return true;
	family_of(inode)->title(&fs->tree, inode, name);
	log_add(inode->model->log,
		"%s: refused: a write after close() or rename() put the file in force; open it "
		"again by its name; nothing is changed",
		name);
	return false;
}

/* Cancel the wait for the release of an emptied file: another write or the release has come. */
static void expect_no_release(struct mount *fs, struct open_file *handle)
{
	if (atomic_exchange(&handle->emptied, false))
		in_flight_unexpect(fs->emptied);
}

/* Check whether a nameless writer may write there (open_files.h). The kernel's i_size is the
 * readers' size, so with O_APPEND *offset becomes the stage's size. */
static bool place_nameless(fuse_req_t req, struct open_file *handle,
			   const struct fuse_file_info *fi, size_t size, off_t *offset)
{
	struct mount *fs = mount_of(req);
	struct inode *inode = handle->inode;
	char name[TITLE_MAX];

	if (!open_files_may_write_to(fs->handles, handle, (uint64_t)*offset + size)) {
		family_of(inode)->title(&fs->tree, inode, name);
		if (!stage_failed(inode->stage))
			log_add(inode->model->log,
				"%s: refused: opened without its name (through /proc/self/fd, as "
				"Samba does), it cannot be made larger while another program has "
				"it open; remove it first, or try again",
				name);
		stage_fail(inode->stage, -EBUSY);
		return false;
	}
	if (fi->flags & O_APPEND)
		*offset = (off_t)stage_shown(inode->stage).size;
	return true;
}

/* The family's judgement of the bytes if they are whole lines: 0 or -errno. */
static int judge(const struct inode *inode, const char *bytes, size_t size)
{
	const struct family *family = family_of(inode);

	return family->judge && size && bytes[size - 1] == '\n' ? family->judge(inode, bytes, size)
								: 0;
}

/* Keep words until a close() or the release (obey_async()). */
static void write_words(fuse_req_t req, struct open_file *handle, const char *bytes, size_t size,
			uint64_t offset)
{
	const bool at_line = written_words_at_line(handle->words);
	int rc = written_words_write(handle->words, bytes, size, offset);

	if (rc == 0 && at_line) {
		rc = judge(handle->inode, bytes, size);
		if (rc < 0)
			written_words_end(handle->words, -ECANCELED);
	} else if (rc < 0 && rc != -ECANCELED) {
		log_add(handle->inode->model->log, "%s: refused: %s; nothing is changed",
			generated_name(handle->inode->index),
			rc == -EINVAL ? "expected text without a NUL, written in order"
			: rc == -ESTALE
				? "a write after the text was put in force; open the file again"
				: strerror(-rc));
	}
	reply_write(req, rc == -ECANCELED ? -EINVAL : rc, size);
}

/* Working directory of the writer. NULL: unknown. */
static const char *find_cwd(const struct async_request *async, char cwd[PATH_MAX])
{
	const pid_t pid = fuse_req_ctx(async->req)->pid;
	char link[48];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	n = pid > 0 ? readlink(link, cwd, PATH_MAX - 1) : -1;
	cwd[n < 0 ? 0 : n] = '\0';
	return cwd[0] == '/' ? cwd : NULL;
}

/* The writer waits for the answer, so the file that it copies from is still open. */
static ssize_t obey(struct async_request *async)
{
	struct mount *fs = async->fs;
	const struct open_file *handle = async->handle;
	const struct inode *inode = handle->inode;
	struct write_source *trace =
		family_of(inode)->traced
			? write_source_begin(fs->tracer, fuse_req_ctx(async->req)->pid, handle->uid,
					     handle->gid)
			: NULL;
	struct donor *source = write_source_donor(trace, async->size, inode->ino);
	char cwd[PATH_MAX];
	struct family_words words = { .text = async->text,
				      .n = async->size,
				      .cwd = family_of(inode)->traced ? find_cwd(async, cwd) : NULL,
				      .source = source ? donor_path(source) : NULL,
				      .uid = handle->uid,
				      .gid = handle->gid,
				      .stop = &async->stop };
	int rc;

	stop_flags_add(fs->stop_reads, &async->stop_read, &async->stop);
	rc = family_of(inode)->obey(&fs->tree, inode, &words);
	if (rc == 0 && !family_of(inode)->lines)
		written_words_end(handle->words, -ESTALE);
	stop_flags_remove(fs->stop_reads, &async->stop_read);
	donor_unref(source);
	write_source_unref(trace);
	return rc;
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	      struct fuse_file_info *fi)
{
	struct open_file *handle = open_file_of(fi);
	struct write_source *trace;
	int rc = 0;

	(void)ino;
	if (!fi->writepage && !ops_can_write(mount_of(req), handle->inode)) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	expect_no_release(mount_of(req), handle);
	/* A write-back page of a map carries neither owner nor process. */
	open_file_record_write(handle, fi->writepage ? 0 : fi->lock_owner,
			       fi->writepage ? 0 : fuse_req_ctx(req)->pid);
	if (handle->nameless && !place_nameless(req, handle, fi, size, &offset)) {
		fuse_reply_err(req, EBUSY);
		return;
	}
	if (!handle->inode->stage) {
		if (family_of(handle->inode)->write == WRITE_DROPPED)
			fuse_reply_write(req, size);
		else if (handle->words)
			write_words(req, handle, bytes, size, (uint64_t)offset);
		else
			write_assemble(req, handle, bytes, size);
		return;
	}
	if (offset == 0 && !stage_written(handle->inode->stage))
		rc = judge(handle->inode, bytes, size);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	trace = stage_trace(handle->inode->stage);
	if (!trace) {
		write_first_async(req, handle, bytes, size, offset);
		return;
	}
	write_source_unref(trace);
	reply_write(req, write_bytes(mount_of(req), handle->inode, bytes, size, (uint64_t)offset),
		    size);
}

/* Put the stage in force, by the commit of its family. A scratch file is in force only under the
 * name of a slot or key, which its family checks. Two closes of one descriptor come here in turn,
 * and the second one finds nothing new. */
static ssize_t commit(struct async_request *async)
{
	struct mount *fs = mount_of(async->req);
	struct inode *inode = async->handle->inode;
	const struct family *family = family_of(inode);
	struct name_lock lock = { .names = { { inode->ino, "" } } };
	int rc = 0;

	if (family->scratch)
		return family->commit(&fs->tree, inode);
	name_locks_take(fs->names, &lock);
	if (stage_written(inode->stage) || (family->is_emptied && family->is_emptied(inode))) {
		rc = family->commit(&fs->tree, inode);
		if (rc == 0)
			stage_set_ended(inode->stage);
	}
	name_locks_release(fs->names, &lock);
	return rc;
}

/* Whether the file of that name is not needed any more. Content written under the name of a slot or
 * key is in force, or refused. A key without a write is still to come. A private file is dropped if
 * its last check, which had to find an organ, has refused it. */
static bool is_done(const struct inode *inode, uint64_t directory, const char *name)
{
	struct value_type type;
	uint32_t i;

	if (!tree_is_named(inode->model, directory, name))
		return !tree_holds_anything(directory, name) && stage_written(inode->stage) &&
		       !stage_unflushed(inode->stage);
	return !tree_is_metadata(directory) || stage_written(inode->stage) ||
	       stage_failed(inode->stage) ||
	       (metadata_find(inode->model->metadata, name, &i) &&
		metadata_edit_get_type(inode->model, i, &type));
}

/* Called when the last process that had the scratch file open has closed it. */
static void end_file(struct mount *fs, const struct inode *inode)
{
	char text[NAME_MAX + 1];
	struct file_name name = { .name = text };

	if (scratch_files_name(fs->scratches, inode, &name.directory, text) &&
	    (stage_has_ended(inode->stage) || is_done(inode, name.directory, text)))
		scratch_files_end(fs->scratches, inode, &name);
}

void ops_free_open_file(struct mount *fs, struct open_file *handle)
{
	struct inode *inode = inodes_get(fs->inodes, handle->inode->ino);

	expect_no_release(fs, handle);
	pollers_remove(&fs->pollers, &handle->poller);
	open_files_close(fs->handles, handle);
	if (inode && inode->stage && family_of(inode)->scratch &&
	    !scratch_files_is_open(fs->scratches, inode))
		end_file(fs, inode);
	inodes_put(fs->inodes, inode);
}

static ssize_t sync_stage(struct async_request *async)
{
	return stage_sync(async->handle->inode->stage);
}

/* Run a job on the handle's stage. False: the answer was ENOMEM. */
static bool run_on_stage(fuse_req_t req, struct open_file *handle,
			 ssize_t (*run)(struct async_request *async),
			 void (*reply)(struct async_request *async, ssize_t result))
{
	struct async_request *async = async_new(req, NULL, run, NULL, 0);

	if (!async)
		return false;
	async->reply = reply;
	async->handle = handle;
	async_submit(async, async->fs->commits);
	return true;
}

/* A failure at the release is only logged, since the file is closed already. */
static void reply_released(struct async_request *async, ssize_t result)
{
	(void)result;
	ops_free_open_file(async->fs, async->handle);
	fuse_reply_err(async->req, 0);
}

/* Obey the words that are complete now. False: there are none. */
static bool obey_async(fuse_req_t req, struct open_file *handle, bool released,
		       void (*reply)(struct async_request *async, ssize_t result))
{
	size_t n;
	char *text = handle->words ? written_words_take(handle->words, released, &n) : NULL;
	struct async_request *async;

	if (!text)
		return false;
	async = async_new(req, NULL, obey, text, n);
	if (async) {
		async->size = n;
		async->reply = reply;
		async->handle = handle;
		async_submit(async, mount_of(req)->obeyed);
	}
	free(text);
	return true;
}

static void reply_emptied(struct async_request *async, ssize_t result)
{
	in_flight_end(async->fs->emptied);
	reply_released(async, result);
}

static void end_trail(void *argument)
{
	page_trail_unref(argument);
}

/* The last pages of the trail may still be on their way from the disk (read-ahead), so a thread
 * that may wait for the disk drops them. */
static void close_reader(struct mount *fs, struct open_file *handle)
{
	struct page_trail *trail = page_trail_ref(handle->trail);
	struct backing *file = page_trail_file(trail);
	struct pool *pool =
		file ? read_threads_for_device(fs->read_threads, backing_stat(file)->st_dev) : NULL;

	ops_free_open_file(fs, handle);
	if (!pool || pool_submit(pool, end_trail, trail) < 0)
		page_trail_unref(trail);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *fs = mount_of(req);
	struct open_file *handle = open_file_of(fi);
	const struct family *family = family_of(handle->inode);
	const bool last = open_file_release(handle) && handle->inode->stage;

	(void)ino;
	if (obey_async(req, handle, true, reply_released))
		return;
	if (last && family->released)
		family->released(handle->inode);
	/* The file was emptied, and the release shows that no write follows. A file that a flush
	 * has refused is not committed. */
	if (last && family->is_emptied && family->is_emptied(handle->inode)) {
		in_flight_begin(fs->emptied);
		if (!run_on_stage(req, handle, commit, reply_emptied)) {
			in_flight_end(fs->emptied);
			ops_free_open_file(fs, handle);
		}
	} else if (last && (stage_unflushed(handle->inode->stage) ||
			    stage_has_removal(handle->inode->stage))) {
		/* Commit bytes that a map wrote after close(), which no flush has seen. A file
		 * without any write is refused now. */
		if (!run_on_stage(req, handle, commit, reply_released))
			ops_free_open_file(fs, handle);
	} else {
		close_reader(fs, handle);
		fuse_reply_err(req, 0);
	}
}

/* Whether a file that can be mapped has a size and no bytes yet. numpy.memmap writes the last byte,
 * maps a copy of the descriptor, and closes the first descriptor before it fills the map. No organ
 * or value begins with this many zeros, and no organ is shorter. Such a file is refused at the
 * release. */
static bool awaits_map(struct open_file *handle)
{
	static const char zeros[512];
	char start[sizeof(zeros)];
	ssize_t n = 0;

	if (handle->maps)
		n = stage_read(handle->inode->stage, start, sizeof(start), 0);
	return n == sizeof(start) && memcmp(start, zeros, sizeof(start)) == 0;
}

/* One close(), of perhaps several of the same descriptor. The close by the last writer commits the
 * stage if it is complete, else refuses it; a refused stage may still be completed. Any other
 * close(), and one beside another busy open file, leaves the stage alone. */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct open_file *handle = open_file_of(fi);
	const struct family *family = family_of(handle->inode);
	bool last;

	(void)ino;
	last = open_file_record_close(handle, fi->lock_owner, fuse_req_ctx(req)->pid);
	if (last && obey_async(req, handle, false, async_reply))
		return;
	last = last && handle->inode->stage;
	if (last && stage_written(handle->inode->stage) && !awaits_map(handle)) {
		run_on_stage(req, handle, commit, async_reply);
		return;
	}
	/* A shell closes one of two descriptors between emptying a file and writing to it. So the
	 * string counts as empty only at the release, and lookups wait for the release. */
	if (last && family->is_emptied && family->is_emptied(handle->inode) &&
	    !atomic_exchange(&handle->emptied, true))
		in_flight_expect(mount_of(req)->emptied);
	fuse_reply_err(req, 0);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct open_file *handle = open_file_of(fi);

	(void)ino;
	(void)datasync;
	if (handle->inode->stage)
		run_on_stage(req, handle, sync_stage, async_reply);
	else
		fuse_reply_err(req, 0);
}
