/* SPDX-License-Identifier: MIT */
/* serve_file.c - serve-file FILE MOUNTPOINT: a filesystem with one file, uncached, as on a
 * network. Stopped by SIGSTOP it is a server that does not answer. It stays in the foreground. */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct served {
	int fd;
	char path[512]; /* in the filesystem */
};

static struct served *served(void)
{
	return fuse_get_context()->private_data;
}

static void *start(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection;
	config->attr_timeout = 0;
	config->entry_timeout = 0;
	config->direct_io = 1;
	return served();
}

static int get_attributes(const char *path, struct stat *stat, struct fuse_file_info *file)
{
	(void)file;
	if (strcmp(path, served()->path) == 0)
		return fstat(served()->fd, stat) < 0 ? -errno : 0;
	*stat = (struct stat){ .st_mode = S_IFDIR | 0755, .st_nlink = 2 };
	return strcmp(path, "/") == 0 ? 0 : -ENOENT;
}

static int list(const char *path, void *entries, fuse_fill_dir_t fill, off_t offset,
		struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
	(void)path;
	(void)offset;
	(void)file;
	(void)flags;
	return fill(entries, served()->path + 1, NULL, 0, 0) ? -ENOMEM : 0;
}

static int read_bytes(const char *path, char *bytes, size_t n, off_t offset,
		      struct fuse_file_info *file)
{
	const ssize_t got = pread(served()->fd, bytes, n, offset);

	(void)path;
	(void)file;
	return got < 0 ? -errno : (int)got;
}

static int get_space(const char *path, struct statvfs *room)
{
	(void)path;
	return fstatvfs(served()->fd, room) < 0 ? -errno : 0;
}

static const struct fuse_operations operations = {
	.init = start,
	.getattr = get_attributes,
	.readdir = list,
	.read = read_bytes,
	.statfs = get_space,
};

int main(int argc, char **argv)
{
	char foreground[] = "-f";
	struct served file = { .fd = -1 };
	const char *name;

	if (argc != 3) {
		fprintf(stderr, "usage: serve-file FILE MOUNTPOINT\n");
		return 2;
	}
	name = strrchr(argv[1], '/');
	snprintf(file.path, sizeof(file.path), "/%s", name ? name + 1 : argv[1]);
	file.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (file.fd < 0) {
		perror(argv[1]);
		return 1;
	}
	return fuse_main(3, ((char *[]){ argv[0], foreground, argv[2], NULL }), &operations, &file);
}
