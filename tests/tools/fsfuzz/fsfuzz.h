/* SPDX-License-Identifier: MIT */
/* fsfuzz.h - random system calls on a mount, checked against a model of its state.
 *
 * Each process has slots, keys and private names of its own, of which it knows every byte, and
 * slots that it shares with the others, of which it knows the possible contents. The common
 * knowledge lies in one file in memory (struct shared), which outlives the daemon: after a kill the
 * next mount is compared with the changes that close() had confirmed. */
#ifndef TESTS_TOOLS_FSFUZZ_H
#define TESTS_TOOLS_FSFUZZ_H

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS_MAX      128u
#define PROCESSES_MAX  16u
#define HANDLES_MAX    20u
#define SCRATCHES_MAX  6u
#define OPERATIONS_MAX 64u
#define MOST	       (192u << 10) /* bytes of a file; longer organs are left alone */
#define LINES	       240u
#define LINE	       160u
#define WRITES_KEPT    256u
#define SHARED_OWNER   PROCESSES_MAX

/* Exit statuses of a worker, and of the whole. */
enum { FINE = 0, FOUND = 1, USAGE = 2, GONE = 3 };

struct content {
	bool exists;
	uint32_t size;
	uint8_t bytes[MOST];
};

/* One write of a shared slot by a process: from before its open() to after its close(), in ticks of
 * shared->clock; end 0: it is not done, or was never answered. */
struct shared_write {
	uint64_t version, start, end;
};

struct slot {
	char path[112];	       /* in the mount */
	uint32_t owner;	       /* of the processes; SHARED_OWNER: of all */
	bool key;	       /* in metadata; else an organ */
	bool added;	       /* no slot of the base */
	uint32_t header, size; /* of an organ that fits: bytes of its header and in all */
	uint32_t like; /* the slot that shape and header are of; itself unless it was added */
	/* The content now, and the content if the current operation succeeds. All changes that a
	 * process has begun are one. */
	bool changing;
	struct content base, now, next;
	atomic_uint_fast64_t versions;
	struct shared_write writes[WRITES_KEPT];
};

struct process {
	atomic_int pid;
	atomic_uint_fast64_t since; /* ms when its operation began; 0: it is between two */
	atomic_uint_fast64_t done;
	char lines[LINES][LINE]; /* the last operations, of number done % LINES */
	char found[512];
};

struct shared {
	char magic[8];
	uint32_t processes, slots;
	atomic_uint_fast64_t clock;
	struct process process[PROCESSES_MAX];
	struct slot slot[SLOTS_MAX];
};

/* The expected content of an open or private file. */
struct file {
	unsigned refs;
	size_t size;
	bool written; /* since it was emptied, made or last put in force */
	bool over;    /* put in force: only pages of a map are still taken */
	uint8_t bytes[MOST];
};

/* A private name of the mount. */
struct scratch {
	char path[112];
	struct file *file; /* NULL: there is none */
};

struct handle {
	enum handle_kind { CLOSED, READER, STAGE, MAKER, SCRATCH } kind;
	int fd, flags;
	bool nameless;
	bool busy;	   /* not closed since it was opened or written to */
	size_t most;	   /* a nameless file cannot grow while others read it */
	struct slot *slot; /* NULL of a SCRATCH */
	struct file *file;
	uint8_t *map; /* NULL: none */
	size_t mapped;
};

struct fuzz {
	const char *mnt;
	struct shared *shared;
	struct process *me;
	unsigned number;
	bool trace;
	uint64_t random;
	unsigned weight[OPERATIONS_MAX], weights; /* of the operations, and their sum */
	bool handles_work;			  /* open_by_handle_at() is allowed here */
	bool maps_of_direct;			  /* the kernel maps files open for direct I/O */
	struct slot *own[SLOTS_MAX];
	unsigned n_own;
	struct handle handle[HANDLES_MAX];
	struct scratch scratch[SCRATCHES_MAX];
	uint8_t bytes[MOST + 4096]; /* room to work in */
	int pipe[2];
	int memory; /* a file in memory */
	struct {
		uint64_t ino, generation;
	} seen[SLOTS_MAX];		/* when its name was last looked at */
	uint64_t generation[SLOTS_MAX]; /* times that it was filled or emptied */
};

/* ## state.c */

/* Where it is to be found, FILE or nowhere; NULL and a word if it cannot be. */
struct shared *state_open(const char *file);
/* The slots of a mount: those of base, a directory of organ files. False, with a word. */
bool state_begin(struct shared *shared, const char *base, unsigned processes);
/* The last operations of a process. */
void state_tell(const struct process *process);
/* Compare the mount with the known state and take over its state. False, with words. */
bool state_check(struct shared *shared, const char *mnt);

uint64_t next_random(struct fuzz *fuzz);
uint64_t below(struct fuzz *fuzz, uint64_t n); /* 0 to n - 1; 0 for 0 */
bool one_in(struct fuzz *fuzz, unsigned n);

/* The next operation, for the log. */
void say(struct fuzz *fuzz, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* More of it. */
void say_more(struct fuzz *fuzz, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A find: the process ends with FOUND, or with GONE where the daemon is gone. */
void wrong(struct fuzz *fuzz, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
/* rc of a system call has to be at least 0, or where expected is an error, -1 with that one. */
void expect(struct fuzz *fuzz, long rc, int expected, const char *what);
void path_of(const struct fuzz *fuzz, const char *name, char path[4096]);
DIR *open_directory(struct fuzz *fuzz, const char *name); /* to be closed; it is there */
uint64_t milliseconds(void);

/* An organ body of that version, which its first 8 bytes are. */
void make_body(uint8_t *bytes, size_t n, uint64_t version);
bool is_body(const uint8_t *bytes, size_t n);

/* The whole file; its size, or -1 with errno. More than MOST is an error too. */
long read_whole(const char *path, uint8_t bytes[MOST]);

/* Does close() of the slot's file accept these bytes? FITS_MAYBE: the header has another name or
 * role, which close() may accept or refuse. */
enum fit { FITS_NOT, FITS, FITS_MAYBE };
enum fit fits(const struct fuzz *fuzz, const struct slot *slot, const uint8_t *bytes, size_t n);
void begin_change(struct slot *slot, const uint8_t *bytes, size_t n); /* NULL: removed */
/* Every change that the process has begun is in force, or none is. */
void end_changes(struct fuzz *fuzz, bool in_force);
unsigned slot_number(const struct fuzz *fuzz, const struct slot *slot);
struct slot *any_slot(struct fuzz *fuzz, bool key);

/* ## files.c: operations on an open file. */

struct handle *free_handle(struct fuzz *fuzz);		      /* NULL: there is none */
struct handle *any_handle(struct fuzz *fuzz, unsigned kinds); /* a mask of 1 << kind; or NULL */
unsigned handles_of(const struct fuzz *fuzz, const struct slot *slot, unsigned kinds);
struct file *new_file(struct fuzz *fuzz, const uint8_t *bytes, size_t n);
void put_file(struct file *file);
void read_handle(struct fuzz *fuzz);
void map_handle(struct fuzz *fuzz);
void look_at_handle(struct fuzz *fuzz);
void write_handle(struct fuzz *fuzz);
void write_organ(struct fuzz *fuzz);
void write_map(struct fuzz *fuzz);
void truncate_handle(struct fuzz *fuzz);
void sync_handle(struct fuzz *fuzz);
void lock_handle(struct fuzz *fuzz);
void copy_range(struct fuzz *fuzz);
void refuse_handle(struct fuzz *fuzz);
void fork_handle(struct fuzz *fuzz);
void unmap(struct handle *handle);

/* The name of the slot was removed, or another file was moved there: files that were made under it
 * have no name any more. */
void displace(struct fuzz *fuzz, const struct slot *slot);
/* The file, which was private, fills the slot, and is over. */
void place(struct fuzz *fuzz, struct file *file, struct slot *slot);

/* ## slots.c: organs and keys by their names. */

void open_reader(struct fuzz *fuzz);
void open_writer(struct fuzz *fuzz);
void close_handle(struct fuzz *fuzz);
void close_this(struct fuzz *fuzz, struct handle *handle);
void duplicate_handle(struct fuzz *fuzz);
void remove_slot(struct fuzz *fuzz);
void move_slot(struct fuzz *fuzz);
void link_slot(struct fuzz *fuzz);
void undo_slot(struct fuzz *fuzz);
void look_at_slot(struct fuzz *fuzz);
void attributes_of_slot(struct fuzz *fuzz);
void touch_slot(struct fuzz *fuzz);
void refuse_slot(struct fuzz *fuzz);
void outlive_close(struct fuzz *fuzz);
void kill_writer(struct fuzz *fuzz);
void write_in_child(struct fuzz *fuzz);
void list_class(struct fuzz *fuzz);

/* ## scratch.c: private names. */

void begin_scratches(struct fuzz *fuzz);
void open_scratch(struct fuzz *fuzz);
void make_scratch(struct fuzz *fuzz);
void close_private(struct fuzz *fuzz);
void rename_private(struct fuzz *fuzz);
void remove_scratch(struct fuzz *fuzz);
void rename_scratch(struct fuzz *fuzz);
void link_scratch(struct fuzz *fuzz);
void graft_scratch(struct fuzz *fuzz);
void set_aside(struct fuzz *fuzz);
void drop_scratches(struct fuzz *fuzz);

/* ## common.c: files that all processes work on. */

void read_generated(struct fuzz *fuzz);
void read_common(struct fuzz *fuzz);
void write_common(struct fuzz *fuzz);
void read_base(struct fuzz *fuzz);
void refuse_common(struct fuzz *fuzz);
void walk(struct fuzz *fuzz);

/* An organ that is no mixture: its version, or 0 for the base's content. Ends with a find. */
void check_common(struct fuzz *fuzz, struct slot *slot, const uint8_t *bytes, long n,
		  uint64_t opened);

#endif
