/* SPDX-License-Identifier: MIT */
/* fuzz_ops.c - any bytes as a sequence of requests to a mount (kernel.h): inodes that are known,
 * forgotten and invented, meaningful and meaningless names, files opened, written and closed at the
 * same time. Each request gets one answer that conforms to the protocol, and the content of an open
 * file stays the same.
 *
 * Like the kernel, the fuzzer uses a handle only while it is open and for the inode it was opened
 * for, and closes a handle or forgets an inode only if no request on it is unanswered. */
#include "kernel.h"

#include "tests/unit/small_gguf.h"

#include <linux/fuse.h>
#include <string.h>

#define NODES_MAX   512u
#define HANDLES_MAX 64u

struct handle {
	uint64_t node, fh;
	bool directory, reads, writes;
	uint64_t written; /* bytes of an organ written so far, in order */
};

struct fuzz {
	struct fuzz_kernel *kernel;
	const uint8_t *at, *end;
	uint64_t nodes[NODES_MAX];
	uint64_t lookups[NODES_MAX];
	unsigned n_nodes;
	struct handle handles[HANDLES_MAX];
	unsigned n_handles;
	struct organ_file organ;
};

/* ## decoding of the input, which ends in zeros */

static uint8_t byte(struct fuzz *f)
{
	return f->at < f->end ? *f->at++ : 0;
}

static uint64_t number(struct fuzz *f, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | byte(f);
	return value;
}

/* A small offset, or any number. */
static uint64_t offset(struct fuzz *f)
{
	const uint8_t kind = byte(f);

	return kind < 128 ? kind : kind < 224 ? number(f, 2) : number(f, 8);
}

static uint64_t node(struct fuzz *f)
{
	const uint8_t kind = byte(f);

	if (kind < 224)
		return f->nodes[kind % f->n_nodes];
	/* An inode of the base, whose number encodes its kind (inode.h), or any number. */
	if (kind < 248)
		return (uint64_t)(kind & 15) << 40 | number(f, 1);
	return number(f, 8);
}

/* A text, with the rules of paths in a mount, none of which leads anywhere. */
static size_t text(struct fuzz *f, char *to, size_t most)
{
	size_t n = byte(f) % most;

	for (size_t i = 0; i < n; i++) {
		to[i] = (char)byte(f);
		if (to[i] == '/')
			to[i] = '_';
	}
	return n;
}

static const char *const names[] = {
	".assemble",
	".base",
	".check",
	".grafts",
	".log",
	".merge",
	".recipe",
	".report.json",
	".theta",
	".undo",
	".views",
	".wh.blk_0_ffn_up.bin",
	"adapters",
	"blk_0_attn_q.bin",
	"blk_0_ffn_down.bin",
	"blk_0_ffn_gate.bin",
	"blk_0_ffn_up.bin",
	"blk_0_ffn_up.bin.zst",
	"blk_0_ffn_up.theta",
	"blk_1_ffn_up.bin",
	"blk_65535_ffn_up.bin",
	"checksums.xxh128",
	"embed",
	"general.architecture",
	"general.name",
	"header.gguf",
	"manifest.json",
	"metadata",
	"model.gguf",
	"new.key",
	"norm",
	"npy",
	"organs",
	"other",
	"out.gguf",
	"skeleton",
	"spectral",
	"split.count",
	"theta.svg",
	"token_embd.bin",
	"x.gguf",
	"x.scale",
	".x.bin.a1b2c3",
	"x.bin~",
	"user.organfs.type",
	"user.organfs.tensor",
	"user.organfs.theta",
	"user.organfs.read",
	"u32",
	"string",
	"organs/blk_0_ffn_gate.bin",
	"../organs/blk_0_ffn_up.bin",
	"blk_0_ffn_gate.bin",
};

/* A name that is not empty, "." or "..", as from the kernel; with links also a path. */
static void name(struct fuzz *f, char to[FUZZ_NAME], bool links)
{
	const uint8_t kind = byte(f);
	size_t n;

	if (kind < 200) {
		snprintf(to, FUZZ_NAME, "%s", names[kind % (sizeof(names) / sizeof(names[0]))]);
		for (char *slash = to; !links && (slash = strchr(slash, '/'));)
			*slash = '_';
		return;
	}
	n = text(f, to, 48);
	to[n] = '\0';
	if (!to[0] || !strcmp(to, ".") || !strcmp(to, ".."))
		snprintf(to, FUZZ_NAME, "_");
}

static struct handle *handle(struct fuzz *f)
{
	return f->n_handles ? &f->handles[byte(f) % f->n_handles] : NULL;
}

/* ## answers */

static void learn_node(struct fuzz *f, uint64_t number)
{
	unsigned i = 0;

	while (i < f->n_nodes && f->nodes[i] != number)
		i++;
	if (number == 0 || i == NODES_MAX)
		return;
	f->nodes[i] = number;
	f->n_nodes = i == f->n_nodes ? i + 1 : f->n_nodes;
	f->lookups[i]++;
}

static void learn_handle(struct fuzz *f, uint64_t number, uint64_t fh, uint32_t flags,
			 bool directory)
{
	const uint32_t mode = flags & O_ACCMODE;

	require(f->n_handles < HANDLES_MAX);
	f->handles[f->n_handles++] = (struct handle){ .node = number,
						      .fh = fh,
						      .directory = directory,
						      .reads = mode != O_WRONLY,
						      .writes = !directory && mode != O_RDONLY };
}

/* Each entry of a listing with attributes counts as a lookup. */
static void learn_listing(struct fuzz *f, const struct fuzz_answer *answer)
{
	for (size_t at = 0; at + FUSE_NAME_OFFSET_DIRENTPLUS <= answer->size;) {
		struct fuse_direntplus entry;

		memcpy(&entry, answer->bytes + at, FUSE_NAME_OFFSET_DIRENTPLUS);
		learn_node(f, entry.entry_out.nodeid);
		at += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + entry.dirent.namelen);
	}
}

/* ## requests */

static void ask(struct fuzz *f, uint32_t opcode, uint64_t number, const void *body, size_t n,
		const char *first, const char *second, struct fuzz_answer *answer)
{
	const struct fuzz_request request = { .opcode = opcode,
					      .node = number,
					      .body = body,
					      .n = n,
					      .names = { first, second },
					      .other_user = answer && (byte(f) & 15) == 15 };

	fuzz_kernel_ask(f->kernel, &request, answer);
}

/* Send a request whose parent and answer are nodes. Returns the error. */
static int ask_entry(struct fuzz *f, uint32_t opcode, uint64_t number, const void *body, size_t n,
		     const char *first, const char *second)
{
	struct fuzz_answer answer;
	struct fuse_entry_out entry;

	ask(f, opcode, number, body, n, first, second, &answer);
	if (answer.error == 0) {
		memcpy(&entry, answer.bytes, sizeof(entry));
		learn_node(f, entry.nodeid);
	}
	free(answer.bytes);
	return answer.error;
}

static void make_entry(struct fuzz *f, uint8_t kind)
{
	char first[FUZZ_NAME], second[FUZZ_NAME];

	name(f, first, false);
	if (kind == 0) {
		ask_entry(f, FUSE_LOOKUP, node(f), NULL, 0, first, NULL);
	} else if (kind == 1) {
		const struct fuse_mknod_in in = { .mode = S_IFREG | 0644 };

		ask_entry(f, FUSE_MKNOD, node(f), &in, sizeof(in), first, NULL);
	} else if (kind == 2) {
		const struct fuse_mkdir_in in = { .mode = 0755 };

		ask_entry(f, FUSE_MKDIR, node(f), &in, sizeof(in), first, NULL);
	} else if (kind == 3) {
		name(f, second, true);
		ask_entry(f, FUSE_SYMLINK, node(f), NULL, 0, first, second);
	} else {
		const struct fuse_link_in in = { .oldnodeid = node(f) };

		ask_entry(f, FUSE_LINK, node(f), &in, sizeof(in), first, NULL);
	}
}

static void remove_name(struct fuzz *f, uint8_t kind)
{
	char first[FUZZ_NAME], second[FUZZ_NAME];

	name(f, first, false);
	if (kind == 0) {
		ask(f, FUSE_UNLINK, node(f), NULL, 0, first, NULL, NULL);
	} else if (kind == 1) {
		ask(f, FUSE_RMDIR, node(f), NULL, 0, first, NULL, NULL);
	} else {
		const struct fuse_rename2_in in = { .newdir = node(f), .flags = byte(f) & 7 };

		name(f, second, false);
		ask(f, FUSE_RENAME2, node(f), &in, sizeof(in), first, second, NULL);
	}
}

static void open_file(struct fuzz *f, bool directory)
{
	const struct fuse_open_in in = { .flags = directory ? O_RDONLY : byte(f) % 3u };
	const uint64_t number = node(f);
	struct fuzz_answer answer;
	struct fuse_open_out out;

	if (f->n_handles == HANDLES_MAX)
		return;
	ask(f, directory ? FUSE_OPENDIR : FUSE_OPEN, number, &in, sizeof(in), NULL, NULL, &answer);
	if (answer.error == 0) {
		memcpy(&out, answer.bytes, sizeof(out));
		learn_handle(f, number, out.fh, in.flags, directory);
	}
	free(answer.bytes);
}

static void create_file(struct fuzz *f)
{
	const struct fuse_create_in in = { .flags = O_CREAT | (byte(f) & 1 ? O_RDWR : O_WRONLY),
					   .mode = S_IFREG | 0644 };
	struct fuzz_answer answer;
	struct fuse_entry_out entry;
	struct fuse_open_out out;
	char first[FUZZ_NAME];

	if (f->n_handles == HANDLES_MAX)
		return;
	name(f, first, false);
	ask(f, FUSE_CREATE, node(f), &in, sizeof(in), first, NULL, &answer);
	if (answer.error == 0) {
		memcpy(&entry, answer.bytes, sizeof(entry));
		memcpy(&out, answer.bytes + sizeof(entry), sizeof(out));
		learn_node(f, entry.nodeid);
		learn_handle(f, entry.nodeid, out.fh, in.flags, false);
	}
	free(answer.bytes);
}

/* Read twice: an opened file keeps its content, and a read of a file in writing waits for the
 * writes. */
static void read_file(struct fuzz *f, const struct handle *h)
{
	const struct fuse_read_in in = { .fh = h->fh,
					 .offset = offset(f),
					 .size = 1 + (uint32_t)number(f, 2) };
	struct fuzz_answer once, again;

	fuzz_kernel_wait(f->kernel);
	ask(f, FUSE_READ, h->node, &in, sizeof(in), NULL, NULL, &once);
	ask(f, FUSE_READ, h->node, &in, sizeof(in), NULL, NULL, &again);
	if (once.error == 0 && again.error == 0 && !h->writes)
		require(once.size == again.size &&
			(!once.size || memcmp(once.bytes, again.bytes, once.size) == 0));
	free(once.bytes);
	free(again.bytes);
}

/* Write the next bytes of an organ, or bytes of the input. */
static void write_file_to(struct fuzz *f, struct handle *h)
{
	struct {
		struct fuse_write_in in;
		char bytes[512];
	} body = { .in = { .fh = h->fh } };
	const bool organ = byte(f) & 1;

	if (organ) {
		const uint64_t left = f->organ.size - h->written % f->organ.size;

		body.in.offset = f->organ.size - left;
		body.in.size = (uint32_t)(left < sizeof(body.bytes) ? left : sizeof(body.bytes));
		memcpy(body.bytes, f->organ.bytes + body.in.offset, body.in.size);
		h->written += body.in.size;
	} else {
		body.in.offset = offset(f);
		body.in.size = (uint32_t)text(f, body.bytes, 200);
	}
	ask(f, FUSE_WRITE, h->node, &body, sizeof(body.in) + body.in.size, NULL, NULL, NULL);
}

static void use_handle(struct fuzz *f, uint8_t kind)
{
	struct handle *h = handle(f);

	if (!h)
		return;
	if (h->directory) {
		const struct fuse_read_in in = { .fh = h->fh, .offset = offset(f), .size = 4096 };
		const uint32_t opcode = kind & 1 ? FUSE_READDIRPLUS : FUSE_READDIR;
		struct fuzz_answer answer;

		ask(f, opcode, h->node, &in, sizeof(in), NULL, NULL, &answer);
		if (answer.error == 0 && opcode == FUSE_READDIRPLUS)
			learn_listing(f, &answer);
		free(answer.bytes);
	} else if (kind == 0 && h->reads) {
		read_file(f, h);
	} else if (kind == 1 && h->writes) {
		write_file_to(f, h);
	} else if (kind == 2) {
		const struct fuse_flush_in in = { .fh = h->fh, .lock_owner = byte(f) };

		ask(f, FUSE_FLUSH, h->node, &in, sizeof(in), NULL, NULL, NULL);
	} else if (kind == 3) {
		const struct fuse_poll_in in = { .fh = h->fh, .kh = h->fh,
						 .flags = FUSE_POLL_SCHEDULE_NOTIFY };

		ask(f, FUSE_POLL, h->node, &in, sizeof(in), NULL, NULL, NULL);
	} else {
		const struct fuse_fsync_in in = { .fh = h->fh };

		ask(f, FUSE_FSYNC, h->node, &in, sizeof(in), NULL, NULL, NULL);
	}
}

static void release(struct fuzz *f, unsigned i)
{
	const struct handle h = f->handles[i];
	const struct fuse_release_in in = { .fh = h.fh };

	fuzz_kernel_wait(f->kernel);
	f->handles[i] = f->handles[--f->n_handles];
	ask(f, h.directory ? FUSE_RELEASEDIR : FUSE_RELEASE, h.node, &in, sizeof(in), NULL, NULL,
	    NULL);
}

/* Forget an inode, unless a file of it is open. */
static void forget(struct fuzz *f, unsigned i)
{
	const struct fuse_forget_in in = { .nlookup = f->lookups[i] };

	for (unsigned h = 0; h < f->n_handles; h++)
		if (f->handles[h].node == f->nodes[i])
			return;
	if (in.nlookup == 0)
		return;
	fuzz_kernel_wait(f->kernel);
	f->lookups[i] = 0;
	ask(f, FUSE_FORGET, f->nodes[i], &in, sizeof(in), NULL, NULL, NULL);
}

static void copy_range(struct fuzz *f)
{
	const struct handle *from = handle(f), *to = handle(f);

	if (from && from->reads && !from->directory && to->writes) {
		const struct fuse_copy_file_range_in in = { .fh_in = from->fh,
							    .off_in = offset(f),
							    .nodeid_out = to->node,
							    .fh_out = to->fh,
							    .off_out = offset(f),
							    .len = offset(f) };

		ask(f, FUSE_COPY_FILE_RANGE, from->node, &in, sizeof(in), NULL, NULL, NULL);
	}
}

static void attributes(struct fuzz *f, uint8_t kind)
{
	const uint32_t valid[] = {
		FATTR_SIZE,	      FATTR_MODE, FATTR_UID, FATTR_MTIME, FATTR_ATIME | FATTR_MTIME,
		FATTR_SIZE | FATTR_FH
	};
	const struct handle *h = handle(f);
	struct fuse_setattr_in in = { .valid = valid[byte(f) % 6u],
				      .size = offset(f),
				      .mode = 0600 };
	const struct fuse_getattr_in get = { 0 };

	if (kind == 0) {
		ask(f, FUSE_GETATTR, node(f), &get, sizeof(get), NULL, NULL, NULL);
	} else if (in.valid & FATTR_FH && h) {
		in.fh = h->fh;
		if (h->writes)
			ask(f, FUSE_SETATTR, h->node, &in, sizeof(in), NULL, NULL, NULL);
	} else if (!(in.valid & FATTR_FH)) {
		ask(f, FUSE_SETATTR, node(f), &in, sizeof(in), NULL, NULL, NULL);
	}
}

static void extended(struct fuzz *f, uint8_t kind)
{
	const struct fuse_getxattr_in get = { .size = byte(f) & 1 ? 4096 : byte(f) };
	char first[FUZZ_NAME], value[FUZZ_NAME];
	uint32_t set[2]; /* size and flags: without FUSE_SETXATTR_EXT the request ends there */

	name(f, first, true);
	if (kind == 0) {
		ask(f, FUSE_GETXATTR, node(f), &get, sizeof(get), first, NULL, NULL);
	} else if (kind == 1) {
		ask(f, FUSE_LISTXATTR, node(f), &get, sizeof(get), NULL, NULL, NULL);
	} else if (kind == 2) {
		ask(f, FUSE_REMOVEXATTR, node(f), NULL, 0, first, NULL, NULL);
	} else {
		name(f, value, true);
		set[0] = (uint32_t)strlen(value) + 1;
		set[1] = byte(f) & 3;
		ask(f, FUSE_SETXATTR, node(f), set, sizeof(set), first, value, NULL);
	}
}

static void step(struct fuzz *f)
{
	const uint8_t kind = byte(f);
	const struct fuse_access_in access = { .mask = 4 };

	switch (kind % 32) {
	case 0 ... 7:
		make_entry(f, kind % 32 < 4 ? 0 : kind % 32 - 3);
		break;
	case 8 ... 10:
		remove_name(f, kind % 32 - 8);
		break;
	case 11 ... 13:
		open_file(f, kind % 32 == 13);
		break;
	case 14:
		create_file(f);
		break;
	case 15 ... 23:
		use_handle(f, kind & 3);
		break;
	case 24:
		if (f->n_handles)
			release(f, byte(f) % f->n_handles);
		break;
	case 25:
		forget(f, byte(f) % f->n_nodes);
		break;
	case 26:
		copy_range(f);
		break;
	case 27 ... 28:
		attributes(f, kind & 1);
		break;
	case 29:
		extended(f, byte(f) & 3);
		break;
	case 30:
		fuzz_kernel_wait(f->kernel);
		break;
	default:
		if (kind & 32)
			ask(f, FUSE_READLINK, node(f), NULL, 0, NULL, NULL, NULL);
		else if (kind & 64)
			ask(f, FUSE_STATFS, node(f), NULL, 0, NULL, NULL, NULL);
		else
			ask(f, FUSE_ACCESS, node(f), &access, sizeof(access), NULL, NULL, NULL);
	}
}

/* Look up the root, its directories and their entries. */
static void look_around(struct fuzz *f)
{
	static const char *const directories[] = { "organs", "skeleton", "metadata", ".base",
						   ".views" };

	f->nodes[f->n_nodes] = FUSE_ROOT_ID;
	f->lookups[f->n_nodes++] = 0;
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		const int error =
			ask_entry(f, FUSE_LOOKUP, FUSE_ROOT_ID, NULL, 0, directories[i], NULL);

		require(error == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz *f = calloc(1, sizeof(*f));

	require(f != NULL);
	f->kernel = fuzz_kernel_new();
	f->organ = mk_organ("blk.0.ffn_up.weight", 0, 2, small_ne, 7);
	look_around(f);
	f->at = data;
	f->end = data + size;
	while (f->at < f->end && fuzz_kernel_asked(f->kernel) < FUZZ_REQUESTS - 2 * HANDLES_MAX)
		step(f);
	while (f->n_handles)
		release(f, f->n_handles - 1);
	fuzz_kernel_free(f->kernel);
	free(f->organ.bytes);
	free(f);
	return 0;
}
