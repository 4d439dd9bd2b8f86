/* SPDX-License-Identifier: MIT */
/* fsfuzz.h - random system calls on a mount, checked against a model of its state.
 *
 * Each process knows every byte of its own slots, keys and private names, and the possible contents
 * of the slots that it shares with others. The common knowledge is one memory file (struct shared),
 * which outlives the daemon: after a kill the next mount is compared with the changes that close()
 * had confirmed. */
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
#define MOST	       (192u << 10) /* bytes of a file; longer organs are not used */
#define LINES	       240u
#define LINE	       160u
#define WRITES_KEPT    256u
#define SHARED_OWNER   PROCESSES_MAX

/* Exit statuses of a worker, and of the program. */
enum { FINE = 0, FOUND = 1, USAGE = 2, GONE = 3 };

struct content {
	bool exists;
	uint32_t size;
	uint8_t bytes[MOST];
};

/* One write of a shared slot by a process, from before its open() to after its close(), in ticks
 * of shared->clock; end 0: not finished, or never answered. */
struct shared_write {
	uint64_t version, start, end;
};

struct slot {
	char path[112];	       /* in the mount */
	uint32_t owner;	       /* number of the process; SHARED_OWNER: all */
	bool key;	       /* a metadata key, not an organ */
	bool added;	       /* not a slot of the base */
	uint32_t header, size; /* of a fitting organ: bytes of its header, and in all */
	uint32_t like;	       /* slot with this shape and header; itself unless added */
	/* Content now, and content if the current operation succeeds. All changes that a process
	 * has begun are one. */
	bool changing;
	struct content base, now, next;
	atomic_uint_fast64_t versions;
	struct shared_write writes[WRITES_KEPT];
};

struct process {
	atomic_int pid;
	atomic_uint_fast64_t since; /* ms when its operation began; 0: between two operations */
	atomic_uint_fast64_t done;
	char lines[LINES][LINE]; /* ring of the last operations, at done % LINES */
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
	bool over;    /* put in force: takes only pages of a map */
	uint8_t bytes[MOST];
};

/* A private name of the mount. */
struct scratch {
	char path[112];
	struct file *file; /* NULL: the name is free */
};

struct handle {
	enum handle_kind { CLOSED, READER, STAGE, MAKER, SCRATCH } kind;
	int fd, flags;
	bool nameless;
	bool busy;	   /* written, or opened for writing, and not closed yet */
	size_t most;	   /* size limit: a nameless file cannot grow while others read it */
	struct slot *slot; /* NULL for a SCRATCH */
	struct file *file;
	uint8_t *map; /* NULL without a map */
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
	bool handles_work;			  /* open_by_handle_at() works here */
	bool maps_of_direct;			  /* the kernel maps files open for direct I/O */
	struct slot *own[SLOTS_MAX];
	unsigned n_own;
	struct handle handle[HANDLES_MAX];
	struct scratch scratch[SCRATCHES_MAX];
	uint8_t bytes[MOST + 4096]; /* working space */
	int pipe[2];
	int memory; /* a file in memory */
	struct {
		uint64_t ino, generation;
	} seen[SLOTS_MAX];		/* time of the last look-up of its name */
	uint64_t generation[SLOTS_MAX]; /* number of fills and removals */
};

/* ## state.c */

/* Open the state in FILE, or in memory if file is NULL. NULL after a message if that fails. */
struct shared *state_open(const char *file);
/* Enter the slots of a mount from base, a directory of organ files. False after a message. */
bool state_begin(struct shared *shared, const char *base, unsigned processes);
/* Print the last operations of a process. */
void state_tell(const struct process *process);
/* Compare the mount with the known state and take over its state. False after messages. */
bool state_check(struct shared *shared, const char *mnt);

uint64_t next_random(struct fuzz *fuzz);
uint64_t below(struct fuzz *fuzz, uint64_t n); /* a random number from 0 to n - 1; 0 if n is 0 */
bool one_in(struct fuzz *fuzz, unsigned n);

/* Log the next operation. */
void say(struct fuzz *fuzz, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Log more about the operation. */
void say_more(struct fuzz *fuzz, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Report a find; the process ends with FOUND, or with GONE if the daemon is gone. */
void wrong(struct fuzz *fuzz, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
/* Check rc of a system call: at least 0, or, if expected is an error, -1 with that errno. */
void expect(struct fuzz *fuzz, long rc, int expected, const char *what);
void path_of(const struct fuzz *fuzz, const char *name, char path[4096]);
DIR *open_directory(struct fuzz *fuzz, const char *name); /* it must exist; caller closes */
uint64_t milliseconds(void);

/* Make an organ body of that version; the first 8 bytes are the version. */
void make_body(uint8_t *bytes, size_t n, uint64_t version);
bool is_body(const uint8_t *bytes, size_t n);

/* Read a whole file. Returns its size, or -1 with errno; a size over MOST is an error too. */
long read_whole(const char *path, uint8_t bytes[MOST]);

/* Would close() of the slot's file accept these bytes? FITS_MAYBE: the header has another name or
 * role, which close() may accept or refuse. */
enum fit { FITS_NOT, FITS, FITS_MAYBE };
enum fit fits(const struct fuzz *fuzz, const struct slot *slot, const uint8_t *bytes, size_t n);
void begin_change(struct slot *slot, const uint8_t *bytes, size_t n); /* bytes NULL: removed */
/* All changes that the process has begun are in force, or none is. */
void end_changes(struct fuzz *fuzz, bool in_force);
unsigned slot_number(const struct fuzz *fuzz, const struct slot *slot);
struct slot *any_slot(struct fuzz *fuzz, bool key);

/* ## files.c: operations on an open file. */

struct handle *free_handle(struct fuzz *fuzz);		      /* NULL: all are in use */
struct handle *any_handle(struct fuzz *fuzz, unsigned kinds); /* of a mask of 1 << kind; or NULL */
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

/* The slot's name was removed, or another file was moved there: files made under that name have no
 * name any more. */
void displace(struct fuzz *fuzz, const struct slot *slot);
/* A private file fills the slot and takes no more writes. */
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

/* Check that an organ is no mixture: of one version, or the base's content. */
void check_common(struct fuzz *fuzz, struct slot *slot, const uint8_t *bytes, long n,
		  uint64_t opened);

#endif
