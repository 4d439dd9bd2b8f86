/* SPDX-License-Identifier: MIT */
/* passthrough.c - see passthrough.h. Numbers and structures are those of the kernel's protocol
 * (include/uapi/linux/fuse.h, minor 40), which older headers do not have. */
#include "fs/fuse/passthrough.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "gguf/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};

#define BACKING_OPEN  _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

#define OPEN_DIRECT_IO	 (1u << 0)
#define OPEN_NOFLUSH	 (1u << 5)
#define OPEN_PASSTHROUGH (1u << 7)

struct open_reply {
	uint64_t fh;
	uint32_t flags;
	int32_t number;
};

/* The kernel opens the underlying file with O_DIRECT if a process opens the inode with it. */
static bool can_be_read_directly(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (again >= 0)
		close(again);
	return again >= 0;
}

/* ioctl() on the connection, only while it is open: afterwards the descriptor's number may be
 * another file's. Returns ioctl()'s result, or -1. */
static int ask(struct mount *fs, unsigned long request, const void *argument)
{
	int rc = -1;

	pthread_rwlock_rdlock(&fs->answering);
	if (read_modes_on(fs->read_modes))
		rc = ioctl(fs->connection, request, argument);
	pthread_rwlock_unlock(&fs->answering);
	return rc;
}

int passthrough_hand(struct mount *fs, int fd)
{
	const struct backing_map map = { .fd = fd };
	int number;

	if (!can_be_read_directly(fd))
		return 0;
	number = ask(fs, BACKING_OPEN, &map);
	/* The daemon lacks the right, and will not get it. */
	if (number < 0 && errno == EPERM)
		read_modes_end(fs->read_modes);
	return number > 0 ? number : 0;
}

void passthrough_give_back(void *context, int number)
{
	const uint32_t kernels = (uint32_t)number;

	ask(context, BACKING_CLOSE, &kernels);
}

int passthrough_reply_open(fuse_req_t req, const struct fuse_file_info *fi, int number)
{
	const struct open_reply reply = {
		.fh = fi->fh,
		.flags = OPEN_PASSTHROUGH | OPEN_NOFLUSH | (fi->direct_io ? OPEN_DIRECT_IO : 0),
		.number = number,
	};

	return fuse_reply_buf(req, (const char *)&reply, sizeof(reply));
}

static bool is_wanted(const struct mount *fs)
{
	return !fs->options->no_passthrough && geteuid() == 0;
}

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)

void passthrough_prepare(struct mount *fs, struct fuse_session *session)
{
	fs->connection = fuse_session_fd(session);
}

void passthrough_init(struct mount *fs, struct fuse_conn_info *connection)
{
	if (is_wanted(fs) && fuse_set_feature_flag(connection, FUSE_CAP_PASSTHROUGH))
		read_modes_begin(fs->read_modes, passthrough_give_back, fs);
}

#else

/* The INIT request: a header of 40 bytes, whose second word is the opcode, then major, minor,
 * max_readahead, flags and, if flags has INIT_EXT, flags2. */
#define REQUEST_INIT	   26
#define INIT_IN_FLAGS	   (40 + 12)
#define INIT_IN_FLAGS2	   (40 + 16)
#define FLAG_INIT_EXT	   (1u << 30)
#define FLAG2_PASSTHROUGH  (1u << 5)

/* Its answer: 64 bytes since minor 23, after a header of 16. */
#define INIT_OUT_SIZE	   64
#define INIT_OUT_FLAGS	   12
#define INIT_OUT_FLAGS2	   32
#define INIT_OUT_MAX_DEPTH 36

static ssize_t read_request(int fd, void *bytes, size_t size, void *userdata)
{
	struct mount *fs = userdata;
	const uint8_t *request = bytes;
	const ssize_t n = read(fd, bytes, size);

	if (n >= INIT_IN_FLAGS2 + 4 && load_u32(request + 4) == REQUEST_INIT)
		fs->kernel_passes = (load_u32(request + INIT_IN_FLAGS) & FLAG_INIT_EXT) &&
				    (load_u32(request + INIT_IN_FLAGS2) & FLAG2_PASSTHROUGH);
	return n;
}

static void set_bits(uint8_t *word, uint32_t bits)
{
	store_u32(word, load_u32(word) | bits);
}

/* Complete the first answer, which is that to INIT. An error has no second part. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	struct mount *fs = userdata;

	if (fs->kernel_passes) {
		fs->kernel_passes = false;
		if (count == 2 && iov[1].iov_len == INIT_OUT_SIZE) {
			uint8_t *out = iov[1].iov_base;

			set_bits(out + INIT_OUT_FLAGS, FLAG_INIT_EXT);
			set_bits(out + INIT_OUT_FLAGS2, FLAG2_PASSTHROUGH);
			store_u32(out + INIT_OUT_MAX_DEPTH, 1);
			read_modes_begin(fs->read_modes, passthrough_give_back, fs);
		}
	}
	return writev(fd, iov, count);
}

static ssize_t splice_request(int from, off_t *from_offset, int to, off_t *to_offset, size_t n,
			      unsigned flags, void *userdata)
{
	(void)userdata;
	return splice(from, from_offset, to, to_offset, n, flags);
}

void passthrough_prepare(struct mount *fs, struct fuse_session *session)
{
	const struct fuse_custom_io io = {
		.read = read_request,
		.writev = write_reply,
		.splice_receive = splice_request,
		.splice_send = splice_request,
	};

	fs->connection = fuse_session_fd(session);
	/* If this fails (out of memory), the daemon reads. */
	if (is_wanted(fs))
		fuse_session_custom_io(session, &io, fs->connection);
}

void passthrough_init(struct mount *fs, struct fuse_conn_info *connection)
{
	(void)fs;
	(void)connection;
}

#endif
