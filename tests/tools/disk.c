/* SPDX-License-Identifier: MIT */
/* disk.c - organfs-disk [-r RECORD] [-c CONTROL] BACK MOUNTPOINT: the directory BACK as a disk
 * that records its requests and injects faults. It stays in the foreground.
 *
 * A record is one request that changed or flushed the disk, in their order: a line of fields
 * between tabs, the last of which is the number of bytes behind the line. Files are named by their
 * inode number in BACK:
 *
 *	make DIR NEW S_IFMT             bytes: the name, and behind a NUL the target of a link
 *	link DIR FILE           the name
 *	unlink DIR              the name
 *	rename DIR DIR FLAGS    both names, with a NUL between
 *	write FILE AT           the written bytes
 *	size FILE SIZE          nothing
 *	attr FILE MODE UID GID MTIME    nothing; MTIME as seconds.nanoseconds
 *	sync FILE               nothing; of a directory too
 *
 * CONTROL is read at every request. A line of CONTROL is "WHICH FAULT AFTER FROM TO"; the last
 * three are optional and select the requests beyond the first AFTER ones that touch bytes from
 * FROM to TO. WHICH is "read", "change" (or flush the disk), "grow" (requests that take space) or
 * "any". FAULT is EIO, ENOSPC, EROFS, half (a read gets half of its bytes), end (a read gets
 * nothing, as at the end of the file), flip (every 512th byte that is read differs), wait=MS, or
 * kill: the process that asks ends there, and the disk takes no more changes. */
#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READS = 1, CHANGES = 2, GROWS = 4 };
#define RULES 8

struct rule {
	char which[8], fault[16];
	long after, from, to;
	long seen; /* requests that have matched the rule */
};

/* A file that the kernel knows. */
struct known {
	struct known *next;
	int fd; /* O_PATH */
	ino_t ino;
	uint64_t lookups;
};

/* The disk. One thread answers requests one after another. */
struct disk {
	struct known root;
	int record;
	const char *control;
	char text[512]; /* content of CONTROL */
	struct rule rules[RULES];
	int n_rules;
};

static struct disk *disk_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct known *known_of(fuse_req_t req, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &disk_of(req)->root : (struct known *)(uintptr_t)ino;
}

static unsigned long number(fuse_req_t req, fuse_ino_t ino)
{
	return (unsigned long)known_of(req, ino)->ino;
}

/* Path of the file itself, through its descriptor. */
struct way {
	char path[40];
};

static struct way way_to(int fd)
{
	struct way way;

	snprintf(way.path, sizeof(way.path), "/proc/self/fd/%d", fd);
	return way;
}

__attribute__((format(printf, 4, 5))) static void record(fuse_req_t req, const void *bytes,
							 size_t n, const char *format, ...)
{
	const int fd = disk_of(req)->record;
	char line[160];
	struct iovec parts[2] = { { line, 0 }, { (void *)(uintptr_t)bytes, n } };
	va_list arguments;
	int length;

	if (fd < 0)
		return;
	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	length += snprintf(line + length, sizeof(line) - (size_t)length, "\t%zu\n", n);
	parts[0].iov_len = (size_t)length;
	if (writev(fd, parts, 2) != length + (ssize_t)n)
		abort();
}

/* Record a request with names, a NUL between them. second may be NULL. */
__attribute__((format(printf, 4, 5))) static void record_names(fuse_req_t req, const char *first,
							       const char *second,
							       const char *format, ...)
{
	char names[2 * PATH_MAX], line[120];
	va_list arguments;
	int n = snprintf(names, sizeof(names), "%s", first);

	if (second)
		n += 1 + snprintf(names + n + 1, sizeof(names) - (size_t)n - 1, "%s", second);
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	record(req, names, (size_t)n, "%s", line);
}

static void read_control(struct disk *disk)
{
	const int fd = disk->control ? open(disk->control, O_RDONLY | O_CLOEXEC) : -1;
	char text[sizeof(disk->text)] = "";

	if (fd >= 0) {
		const ssize_t n = read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		close(fd);
	}
	if (strcmp(text, disk->text) == 0)
		return;
	strcpy(disk->text, text);
	disk->n_rules = 0;
	for (char *rest = text, *line; disk->n_rules < RULES && (line = strsep(&rest, "\n"));) {
		struct rule *rule = &disk->rules[disk->n_rules];

		*rule = (struct rule){ .to = -1 };
		disk->n_rules += sscanf(line, "%7s %15s %ld %ld %ld", rule->which, rule->fault,
					&rule->after, &rule->from, &rule->to) >= 2;
	}
}

static bool is_of(const struct rule *rule, int kinds, off_t at, size_t n)
{
	if (strcmp(rule->which, "any") != 0 &&
	    !(strcmp(rule->which, "read") == 0 && kinds & READS) &&
	    !(strcmp(rule->which, "change") == 0 && kinds & CHANGES) &&
	    !(strcmp(rule->which, "grow") == 0 && kinds & GROWS))
		return false;
	return rule->to < 0 || (at < rule->to && at + (off_t)n > rule->from);
}

/* The rule whose fault applies to this request, or NULL. */
static const struct rule *fault_of(fuse_req_t req, int kinds, off_t at, size_t n)
{
	struct disk *disk = disk_of(req);

	read_control(disk);
	for (int i = 0; i < disk->n_rules; i++) {
		struct rule *rule = &disk->rules[i];
		unsigned ms;

		if (!is_of(rule, kinds, at, n) || ++rule->seen <= rule->after)
			continue;
		if (sscanf(rule->fault, "wait=%u", &ms) != 1)
			return rule;
		usleep(ms * 1000);
	}
	return NULL;
}

/* Answer the request with its fault, if there is one. Returns whether the request has failed. */
static bool fails_at(fuse_req_t req, int kinds, off_t at, size_t n)
{
	static const struct {
		const char *name;
		int code;
	} codes[] = { { "EIO", EIO }, { "ENOSPC", ENOSPC }, { "EROFS", EROFS }, { "kill", EIO } };
	const struct rule *rule = fault_of(req, kinds, at, n);

	if (rule && strcmp(rule->fault, "kill") == 0 && rule->seen == rule->after + 1)
		kill(fuse_req_ctx(req)->pid, SIGKILL);
	for (size_t i = 0; rule && i < sizeof(codes) / sizeof(*codes); i++)
		if (strcmp(rule->fault, codes[i].name) == 0) {
			fuse_reply_err(req, codes[i].code);
			return true;
		}
	return false;
}

static bool fails(fuse_req_t req, int kinds)
{
	return fails_at(req, kinds, 0, 0);
}

static int answer(fuse_req_t req, int rc)
{
	return fuse_reply_err(req, rc < 0 ? errno : 0);
}

/* Look up a name, and add its file to the table of known ones. Returns 0 or -1 with errno set. */
static int enter(fuse_req_t req, fuse_ino_t parent, const char *name,
		 struct fuse_entry_param *entry)
{
	struct known *root = &disk_of(req)->root, *known;
	const int fd = openat(known_of(req, parent)->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	*entry = (struct fuse_entry_param){ 0 };
	if (fd < 0 || fstatat(fd, "", &entry->attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	for (known = root->next; known && known->ino != entry->attr.st_ino;)
		known = known->next;
	if (known) {
		close(fd);
	} else {
		known = calloc(1, sizeof(*known));
		if (!known)
			abort();
		*known = (struct known){ root->next, fd, entry->attr.st_ino, 0 };
		root->next = known;
	}
	known->lookups++;
	entry->ino = (uintptr_t)known;
	return 0;
}

static void look_up(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry;

	if (fails(req, 0))
		return;
	if (enter(req, parent, name, &entry) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_entry(req, &entry);
}

static void forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	struct known *known = known_of(req, ino), **at = &disk_of(req)->root.next;

	fuse_reply_none(req);
	if (ino == FUSE_ROOT_ID || (known->lookups -= lookups) > 0)
		return;
	while (*at != known)
		at = &(*at)->next;
	*at = known->next;
	close(known->fd);
	free(known);
}

static void get_attributes(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	struct stat stat;

	(void)file;
	if (fails(req, 0))
		return;
	if (fstatat(known_of(req, ino)->fd, "", &stat, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_attr(req, &stat, 0);
}

static struct timespec time_of(int set, int has, int now, struct timespec given)
{
	return (struct timespec){ .tv_sec = given.tv_sec,
				  .tv_nsec = set & now	 ? UTIME_NOW
					     : set & has ? given.tv_nsec
							 : UTIME_OMIT };
}

static int change_attributes(const struct known *known, const struct stat *attr, int set)
{
	const struct way way = way_to(known->fd);
	const struct timespec times[2] = {
		time_of(set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim),
		time_of(set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim),
	};
	int rc = 0;

	if (set & FUSE_SET_ATTR_MODE)
		rc = chmod(way.path, attr->st_mode);
	if (rc == 0 && set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		rc = fchownat(known->fd, "", set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1,
			      set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1,
			      AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	if (rc == 0 && set & FUSE_SET_ATTR_SIZE)
		rc = truncate(way.path, attr->st_size);
	/* Linux cannot reach a symbolic link that way; the link's times do not matter. */
	if (rc == 0 && set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME))
		rc = utimensat(AT_FDCWD, way.path, times, 0);
	return rc;
}

static void set_attributes(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
			   struct fuse_file_info *file)
{
	const struct known *known = known_of(req, ino);
	struct stat now;

	(void)file;
	if (fails(req, CHANGES))
		return;
	if (change_attributes(known, attr, set) < 0 ||
	    fstatat(known->fd, "", &now, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	if (set & FUSE_SET_ATTR_SIZE)
		record(req, "", 0, "size\t%lu\t%ld", number(req, ino), (long)now.st_size);
	record(req, "", 0, "attr\t%lu\t%u\t%u\t%u\t%ld.%09ld", number(req, ino), now.st_mode,
	       now.st_uid, now.st_gid, (long)now.st_mtim.tv_sec, now.st_mtim.tv_nsec);
	fuse_reply_attr(req, &now, 0);
}

/* Add the new file to the table, record it and answer the request. */
static void made(fuse_req_t req, fuse_ino_t parent, const char *name, const char *target, int rc)
{
	struct fuse_entry_param entry;

	if (rc < 0 || enter(req, parent, name, &entry) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	record_names(req, name, target, "make\t%lu\t%lu\t%u", number(req, parent),
		     (unsigned long)entry.attr.st_ino, entry.attr.st_mode & S_IFMT);
	fuse_reply_entry(req, &entry);
}

static void make_node(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      dev_t device)
{
	if (!fails(req, CHANGES | GROWS))
		made(req, parent, name, NULL,
		     mknodat(known_of(req, parent)->fd, name, mode, device));
}

static void make_directory(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	if (!fails(req, CHANGES | GROWS))
		made(req, parent, name, NULL, mkdirat(known_of(req, parent)->fd, name, mode));
}

static void make_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	if (!fails(req, CHANGES | GROWS))
		made(req, parent, name, target, symlinkat(target, known_of(req, parent)->fd, name));
}

static void make_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	const struct way way = way_to(known_of(req, ino)->fd);
	struct fuse_entry_param entry;

	if (fails(req, CHANGES | GROWS))
		return;
	if (linkat(AT_FDCWD, way.path, known_of(req, parent)->fd, name, AT_SYMLINK_FOLLOW) < 0 ||
	    enter(req, parent, name, &entry) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	record_names(req, name, NULL, "link\t%lu\t%lu", number(req, parent), number(req, ino));
	fuse_reply_entry(req, &entry);
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, int flags)
{
	int rc;

	if (fails(req, CHANGES))
		return;
	rc = unlinkat(known_of(req, parent)->fd, name, flags);
	if (rc == 0)
		record_names(req, name, NULL, "unlink\t%lu", number(req, parent));
	answer(req, rc);
}

static void remove_file(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, 0);
}

static void remove_directory(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, AT_REMOVEDIR);
}

static void rename_file(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
			const char *new_name, unsigned flags)
{
	int rc;

	if (fails(req, CHANGES))
		return;
	rc = renameat2(known_of(req, parent)->fd, name, known_of(req, new_parent)->fd, new_name,
		       flags);
	if (rc == 0)
		record_names(req, name, new_name, "rename\t%lu\t%lu\t%u", number(req, parent),
			     number(req, new_parent), flags);
	answer(req, rc);
}

static void read_link(fuse_req_t req, fuse_ino_t ino)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(known_of(req, ino)->fd, "", target, sizeof(target) - 1);

	if (n < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	target[n] = '\0';
	fuse_reply_readlink(req, target);
}

static void open_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	const struct way way = way_to(known_of(req, ino)->fd);
	int fd;

	if (fails(req, 0))
		return;
	fd = open(way.path,
		  (file->flags & ~(O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	file->fh = (uint64_t)fd;
	file->direct_io = true; /* every read becomes a request */
	fuse_reply_open(req, file);
}

static void make_file(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *file)
{
	struct fuse_entry_param entry;
	int fd;

	if (fails(req, CHANGES | GROWS))
		return;
	fd = openat(known_of(req, parent)->fd, name,
		    (file->flags & ~O_APPEND) | O_CREAT | O_CLOEXEC, mode);
	if (fd < 0 || enter(req, parent, name, &entry) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	record_names(req, name, NULL, "make\t%lu\t%lu\t%u", number(req, parent),
		     (unsigned long)entry.attr.st_ino, S_IFREG);
	file->fh = (uint64_t)fd;
	file->direct_io = true;
	fuse_reply_create(req, &entry, file);
}

static void close_file(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	(void)ino;
	close((int)file->fh);
	fuse_reply_err(req, 0);
}

static void read_bytes(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
		       struct fuse_file_info *file)
{
	const struct rule *rule;
	char *bytes = malloc(size);
	ssize_t n;

	(void)ino;
	if (!bytes)
		abort();
	n = pread((int)file->fh, bytes, size, at);
	rule = fault_of(req, READS, at, size);
	if (n < 0 || (rule && rule->fault[0] == 'E')) {
		fuse_reply_err(req, EIO);
	} else {
		if (rule && strcmp(rule->fault, "half") == 0 && n > 1)
			n /= 2;
		else if (rule && strcmp(rule->fault, "end") == 0)
			n = 0;
		for (ssize_t i = 0; rule && strcmp(rule->fault, "flip") == 0 && i < n; i += 512)
			bytes[i] ^= 0x55;
		fuse_reply_buf(req, bytes, (size_t)n);
	}
	free(bytes);
}

static void write_bytes(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t at,
			struct fuse_file_info *file)
{
	ssize_t n;

	if (fails_at(req, CHANGES | GROWS, at, size))
		return;
	n = pwrite((int)file->fh, bytes, size, at);
	if (n < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	record(req, bytes, (size_t)n, "write\t%lu\t%ld", number(req, ino), (long)at);
	fuse_reply_write(req, (size_t)n);
}

static void flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	(void)ino;
	(void)file;
	fuse_reply_err(req, 0);
}

/* Do not flush BACK: the disk under it is not part of the test. */
static void sync_file(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *file)
{
	(void)datasync;
	(void)file;
	if (fails(req, CHANGES))
		return;
	record(req, "", 0, "sync\t%lu", number(req, ino));
	fuse_reply_err(req, 0);
}

static void open_directory(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	DIR *listed;

	if (fails(req, 0))
		return;
	listed = opendir(way_to(known_of(req, ino)->fd).path);
	if (!listed) {
		fuse_reply_err(req, errno);
		return;
	}
	file->fh = (uintptr_t)listed;
	fuse_reply_open(req, file);
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *file)
{
	DIR *listed = (DIR *)(uintptr_t)file->fh;
	const struct dirent *entry;
	char answered[4096];
	size_t n = 0;

	(void)ino;
	if (fails(req, READS))
		return;
	size = size < sizeof(answered) ? size : sizeof(answered);
	seekdir(listed, at);
	while ((entry = readdir(listed))) {
		const struct stat stat = { .st_ino = entry->d_ino,
					   .st_mode = (mode_t)entry->d_type << 12 };
		const size_t takes = fuse_add_direntry(req, answered + n, size - n, entry->d_name,
						       &stat, entry->d_off);

		if (takes > size - n)
			break;
		n += takes;
	}
	fuse_reply_buf(req, answered, n);
}

static void close_directory(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	(void)ino;
	closedir((DIR *)(uintptr_t)file->fh);
	fuse_reply_err(req, 0);
}

static void get_space(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs room;

	if (fstatvfs(known_of(req, ino)->fd, &room) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &room);
}

static void start(void *disk, struct fuse_conn_info *connection)
{
	(void)disk;
	connection->want &= ~(unsigned)(FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_ASYNC_READ);
}

static const struct fuse_lowlevel_ops operations = {
	.init = start,
	.lookup = look_up,
	.forget = forget,
	.getattr = get_attributes,
	.setattr = set_attributes,
	.mknod = make_node,
	.mkdir = make_directory,
	.symlink = make_symlink,
	.link = make_link,
	.unlink = remove_file,
	.rmdir = remove_directory,
	.rename = rename_file,
	.readlink = read_link,
	.open = open_file,
	.create = make_file,
	.release = close_file,
	.read = read_bytes,
	.write = write_bytes,
	.flush = flush,
	.fsync = sync_file,
	.opendir = open_directory,
	.readdir = list,
	.releasedir = close_directory,
	.fsyncdir = sync_file,
	.statfs = get_space,
};

static int serve(struct disk *disk, const char *mountpoint)
{
	char name[] = "organfs-disk", option[] = "-ofsname=organfs-disk,default_permissions";
	char *words[] = { name, option, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(2, words);
	struct fuse_session *session =
		fuse_session_new(&args, &operations, sizeof(operations), disk);
	int rc = 1;

	if (session && fuse_set_signal_handlers(session) == 0 &&
	    fuse_session_mount(session, mountpoint) == 0) {
		rc = fuse_session_loop(session) != 0;
		fuse_session_unmount(session);
		fuse_remove_signal_handlers(session);
	}
	if (session)
		fuse_session_destroy(session);
	fuse_opt_free_args(&args);
	return rc;
}

/* Release all known files: at the unmount the kernel sends no FORGET. */
static void release(struct disk *disk)
{
	struct known *known = disk->root.next, *next;

	for (; known; known = next) {
		next = known->next;
		close(known->fd);
		free(known);
	}
	close(disk->root.fd);
}

int main(int argc, char **argv)
{
	struct disk disk = { .record = -1 };
	struct stat stat;
	int option, rc;

	while ((option = getopt(argc, argv, "r:c:")) != -1) {
		if (option == 'c')
			disk.control = optarg;
		if (option == 'r')
			disk.record = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: organfs-disk [-r RECORD] [-c CONTROL] BACK MOUNTPOINT\n");
		return 2;
	}
	umask(0);
	disk.root.fd = open(argv[optind], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (disk.root.fd < 0 || fstat(disk.root.fd, &stat) < 0) {
		perror(argv[optind]);
		return 1;
	}
	disk.root.ino = stat.st_ino;
	rc = serve(&disk, argv[optind + 1]);
	release(&disk);
	return rc;
}
