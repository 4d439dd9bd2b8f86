/* SPDX-License-Identifier: MIT */
/* kernel.c - structures and sizes of answers are those of linux/fuse.h. */
#include "kernel.h"

#include "fs/fuse/directory_notices.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/passthrough.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/util/log.h"
#include "tests/unit/small_gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)1 << 20)

/* A sent request, by number. */
struct asked {
	uint32_t opcode, size; /* size: limit of an answer of variable length */
	bool answered, wanted;
	struct fuzz_answer answer;
};

struct fuzz_kernel {
	void *state; /* the struct temp of temp_setup() */
	int home;    /* the working directory before */
	struct options options;
	struct models models;
	struct log *log;
	struct mount *fs;
	struct fuse_session *session;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t answered;
	unsigned missing, n;
	struct asked asked[FUZZ_REQUESTS];
};

/* libfuse passes no context to its writer function, so the fuzzer is global; inputs run one by
 * one. */
static struct fuzz_kernel *the_kernel;

/* ## answers */

/* Size of a successful answer to this request; SIZE_MAX: see check_counted(). */
static size_t size_of_answer(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_LOOKUP:
	case FUSE_SYMLINK:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_LINK:
		return sizeof(struct fuse_entry_out);
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		return sizeof(struct fuse_attr_out);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return sizeof(struct fuse_open_out);
	case FUSE_CREATE:
		return sizeof(struct fuse_entry_out) + sizeof(struct fuse_open_out);
	case FUSE_WRITE:
	case FUSE_COPY_FILE_RANGE:
		return sizeof(struct fuse_write_out);
	case FUSE_STATFS:
		return sizeof(struct fuse_statfs_out);
	case FUSE_POLL:
		return sizeof(struct fuse_poll_out);
	case FUSE_INIT:
		return sizeof(struct fuse_init_out);
	case FUSE_READ:
	case FUSE_READLINK:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		return SIZE_MAX;
	default:
		return 0;
	}
}

static void check_entry(const uint8_t *bytes)
{
	struct fuse_entry_out entry;

	memcpy(&entry, bytes, sizeof(entry));
	require(entry.nodeid == 0 || (entry.attr.mode & S_IFMT) == S_IFREG ||
		(entry.attr.mode & S_IFMT) == S_IFDIR || (entry.attr.mode & S_IFMT) == S_IFLNK);
}

static void check_listing(const uint8_t *bytes, size_t size, bool plus)
{
	const size_t head = plus ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
	size_t at = 0;

	while (at < size) {
		struct fuse_dirent entry;
		const char *name = (const char *)bytes + at + head;

		require(size - at >= head);
		memcpy(&entry, bytes + at + head - FUSE_NAME_OFFSET, FUSE_NAME_OFFSET);
		require(entry.namelen > 0 && entry.namelen <= size - at - head);
		require(!memchr(name, '/', entry.namelen) && !memchr(name, '\0', entry.namelen));
		if (plus)
			check_entry(bytes + at);
		at += FUSE_DIRENT_ALIGN(head + entry.namelen);
	}
}

static void check_answer(const struct asked *asked, const uint8_t *bytes, size_t size)
{
	const size_t right = size_of_answer(asked->opcode);

	require(right == SIZE_MAX || size == right);
	if (right == sizeof(struct fuse_entry_out) || asked->opcode == FUSE_CREATE)
		check_entry(bytes);
	if (right != SIZE_MAX)
		return;
	if (asked->size || asked->opcode == FUSE_READ)
		require(size <= asked->size);
	else
		require(size == sizeof(struct fuse_getxattr_out));
	if (asked->opcode == FUSE_READDIR || asked->opcode == FUSE_READDIRPLUS)
		check_listing(bytes, size, asked->opcode == FUSE_READDIRPLUS);
	if (asked->opcode == FUSE_READLINK)
		require(size > 0 && !memchr(bytes, '\0', size));
}

static void take(struct fuzz_kernel *k, const struct fuse_out_header *head, const uint8_t *bytes)
{
	struct asked *asked = &k->asked[head->unique];
	const size_t size = head->len - sizeof(*head);

	require(head->unique > 0 && head->unique < k->n && !asked->answered);
	require(head->error <= 0 && head->error > -4096 && (head->error == 0 || size == 0));
	if (head->error == 0)
		check_answer(asked, bytes, size);
	asked->answered = true;
	k->missing--;
	if (asked->wanted) {
		asked->answer = (struct fuzz_answer){ head->error, size, malloc(size + 1) };
		require(asked->answer.bytes != NULL);
		memcpy(asked->answer.bytes, bytes, size);
	}
	pthread_cond_broadcast(&k->answered);
}

/* Check a notification. One kind invalidates a directory's attributes and drops no page, another
 * one wakes processes that wait in poll(). */
static void check_notice(const struct fuse_out_header *head, const uint8_t *bytes)
{
	struct fuse_notify_inval_inode_out notice;

	if (head->error == FUSE_NOTIFY_POLL) {
		require(head->len == sizeof(*head) + sizeof(struct fuse_notify_poll_wakeup_out));
		return;
	}
	require(head->error == FUSE_NOTIFY_INVAL_INODE);
	require(head->len == sizeof(*head) + sizeof(notice));
	memcpy(&notice, bytes, sizeof(notice));
	require(notice.ino != 0 && notice.off < 0);
}

static ssize_t write_answer(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fuzz_kernel *k = the_kernel;
	struct fuse_out_header head;
	size_t size = 0, n = 0;
	uint8_t *bytes;

	(void)fd;
	(void)userdata;
	for (int i = 0; i < count; i++) {
		require(iov[i].iov_len <= ANSWER_MAX - size);
		size += iov[i].iov_len;
	}
	bytes = malloc(size + 1);
	require(bytes != NULL);
	for (int i = 0; i < count; i++) {
		memcpy(bytes + n, iov[i].iov_base, iov[i].iov_len);
		n += iov[i].iov_len;
	}
	require(n >= sizeof(head));
	memcpy(&head, bytes, sizeof(head));
	require(head.len == n);
	if (head.unique == 0) {
		check_notice(&head, bytes + sizeof(head));
	} else {
		pthread_mutex_lock(&k->lock);
		take(k, &head, bytes + sizeof(head));
		pthread_mutex_unlock(&k->lock);
	}
	free(bytes);
	return (ssize_t)n;
}

static ssize_t read_nothing(int fd, void *bytes, size_t size, void *userdata)
{
	(void)fd;
	(void)bytes;
	(void)size;
	(void)userdata;
	return 0;
}

/* ## requests */

static uint32_t size_asked(const struct fuzz_request *request)
{
	switch (request->opcode) {
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
		return ((const struct fuse_read_in *)request->body)->size;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		return ((const struct fuse_getxattr_in *)request->body)->size;
	case FUSE_READLINK:
		return 4096;
	default:
		return 0;
	}
}

static size_t put_name(uint8_t *to, const char *name)
{
	const size_t n = name ? strlen(name) + 1 : 0;

	if (n)
		memcpy(to, name, n);
	return n;
}

static unsigned note(struct fuzz_kernel *k, const struct fuzz_request *request, bool wanted)
{
	const bool answered = request->opcode == FUSE_FORGET;
	unsigned number;

	pthread_mutex_lock(&k->lock);
	require(k->n < FUZZ_REQUESTS);
	number = k->n++;
	k->asked[number] = (struct asked){ .opcode = request->opcode,
					   .size = size_asked(request),
					   .answered = answered,
					   .wanted = wanted };
	k->missing += !answered;
	pthread_mutex_unlock(&k->lock);
	return number;
}

void fuzz_kernel_ask(struct fuzz_kernel *k, const struct fuzz_request *request,
		     struct fuzz_answer *answer)
{
	const unsigned number = note(k, request, answer != NULL);
	const uid_t other = request->other_user ? 65534 : 0;
	struct fuse_in_header head = { .opcode = request->opcode,
				       .unique = number,
				       .nodeid = request->node,
				       .uid = other ? other : geteuid(),
				       .gid = other ? other : getegid(),
				       .pid = (uint32_t)getpid() };
	uint8_t *bytes = malloc(sizeof(head) + request->n + 2 * FUZZ_NAME), *at = bytes;
	struct fuse_buf buffer = { .mem = bytes };

	require(bytes != NULL);
	at += sizeof(head);
	if (request->n)
		memcpy(at, request->body, request->n);
	at += request->n;
	at += put_name(at, request->names[0]);
	at += put_name(at, request->names[1]);
	head.len = (uint32_t)(at - bytes);
	memcpy(bytes, &head, sizeof(head));
	buffer.size = head.len;
	fuse_session_process_buf(k->session, &buffer);
	free(bytes);
	if (!answer)
		return;
	pthread_mutex_lock(&k->lock);
	while (!k->asked[number].answered)
		pthread_cond_wait(&k->answered, &k->lock);
	*answer = k->asked[number].answer;
	pthread_mutex_unlock(&k->lock);
}

void fuzz_kernel_wait(struct fuzz_kernel *k)
{
	pthread_mutex_lock(&k->lock);
	while (k->missing)
		pthread_cond_wait(&k->answered, &k->lock);
	pthread_mutex_unlock(&k->lock);
}

unsigned fuzz_kernel_asked(const struct fuzz_kernel *k)
{
	return k->n;
}

/* ## the mount */

static void open_mount(struct fuzz_kernel *k)
{
	const char *culprit;
	struct path base = in_temp(&k->state, "base.gguf"), point = in_temp(&k->state, "mnt");
	char organfs[] = "organfs", o[] = "-o",
	     options[] = "noassemble,passthrough=no,threads=2,fresh";
	char *argv[] = { organfs, o, options, base.text, point.text, NULL };
	struct error err = { 0 };

	save_small(&k->state, "base.gguf");
	require(options_parse(&k->options, 5, argv, NULL, NULL) == 0);
	k->log = log_new(false);
	require(k->log && models_open(&k->models, &k->options, k->log, &culprit, &err) == 0);
	k->fs = mount_new(&k->models);
	require(k->fs != NULL);
}

static void connect_session(struct fuzz_kernel *k)
{
	static const struct fuse_custom_io io = { .read = read_nothing, .writev = write_answer };
	const struct fuse_init_in init = { .major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_readahead = 131072,
					   .flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES |
						    FUSE_DO_READDIRPLUS | FUSE_MAX_PAGES };
	const struct fuzz_request request = { .opcode = FUSE_INIT,
					      .body = &init,
					      .n = sizeof(init) };
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuzz_answer answer;

	require(fuse_opt_add_arg(&args, "fuzz") == 0);
	k->session = fuse_session_new(&args, &organfs_ops, sizeof(organfs_ops), k->fs);
	fuse_opt_free_args(&args);
	require(k->session && fuse_session_custom_io(k->session, &io,
						     open("/dev/null", O_RDWR | O_CLOEXEC)) == 0);
	directory_notices_begin(k->fs, k->session);
	k->n = 1; /* number 0 marks a notification */
	fuzz_kernel_ask(k, &request, &answer);
	require(answer.error == 0);
	free(answer.bytes);
}

struct fuzz_kernel *fuzz_kernel_new(void)
{
	struct fuzz_kernel *k = calloc(1, sizeof(*k));

	require(k != NULL);
	the_kernel = k;
	setlogmask(LOG_MASK(LOG_EMERG));
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->answered, NULL);
	require(temp_setup(&k->state) == 0);
	/* Paths in requests are relative to the new working directory, paths of inputs to the
	 * current one. */
	k->home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	require(k->home >= 0);
	require(chdir(((struct temp *)k->state)->dir) == 0);
	open_mount(k);
	connect_session(k);
	return k;
}

void fuzz_kernel_free(struct fuzz_kernel *k)
{
	fuzz_kernel_wait(k);
	/* A job whose request was interrupted may run on. */
	directory_notices_end(k->fs);
	fuse_session_destroy(k->session);
	mount_free(k->fs);
	models_close(&k->models);
	log_free(k->log);
	options_release(&k->options);
	require(fchdir(k->home) == 0 && close(k->home) == 0);
	temp_teardown(&k->state);
	pthread_cond_destroy(&k->answered);
	pthread_mutex_destroy(&k->lock);
	free(k);
}
