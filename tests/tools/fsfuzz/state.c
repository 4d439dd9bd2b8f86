/* SPDX-License-Identifier: MIT */
/* state.c - the known state of a mount, and the comparison of a mount with it. */
#include "fsfuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "fsfuzz1";

struct shared *state_open(const char *file)
{
	const int fd = file ? open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
			    : memfd_create("fsfuzz", MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct shared)) == 0)
		at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		fprintf(stderr, "fsfuzz: %s: %s\n", file ? file : "memory", strerror(errno));
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

long read_whole(const char *path, uint8_t bytes[MOST])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;
	char more;

	if (fd < 0)
		return -1;
	while (n < MOST && (got = read(fd, bytes + n, MOST - n)) > 0)
		n += (size_t)got;
	if (got > 0)
		got = read(fd, &more, 1);
	close(fd);
	if (got > 0)
		errno = EFBIG;
	return got == 0 ? (long)n : -1;
}

/* ## the slots of a mount */

static uint32_t u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static struct slot *add_slot(struct shared *shared, const char *path)
{
	struct slot *slot = &shared->slot[shared->slots];

	if (shared->slots == SLOTS_MAX)
		return NULL;
	/* Slots with longer names are not used. */
	if ((size_t)snprintf(slot->path, sizeof(slot->path), "%s", path) >= sizeof(slot->path)) {
		slot->path[0] = '\0';
		return NULL;
	}
	shared->slots++;
	slot->like = shared->slots - 1;
	return slot;
}

static bool take_organ(struct shared *shared, const char *base, const char *path)
{
	char full[PATH_MAX + 256];
	struct slot *slot;
	long n;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	slot = add_slot(shared, path);
	if (!slot)
		return true;
	n = read_whole(full, slot->base.bytes);
	if (n < 0 && errno == EFBIG) {
		memset(slot, 0, sizeof(*slot));
		shared->slots--;
		return true;
	}
	if (n < 16) {
		fprintf(stderr, "fsfuzz: %s is no organ\n", full);
		return false;
	}
	slot->base.exists = true;
	slot->base.size = slot->size = (uint32_t)n;
	slot->header = u32(slot->base.bytes) + 4;
	slot->header += 4 + 8 * u32(slot->base.bytes + slot->header) + 4;
	slot->now = slot->base;
	return slot->header < slot->size;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_bin(const struct dirent *entry)
{
	const size_t n = strlen(entry->d_name);

	return n > 4 && strcmp(entry->d_name + n - 4, ".bin") == 0;
}

static bool take_class(struct shared *shared, const char *base, const char *class)
{
	char path[PATH_MAX];
	struct dirent **entries = NULL;
	bool ok = true;
	int n;

	snprintf(path, sizeof(path), "%s/%s", base, class);
	n = scandir(path, &entries, is_bin, by_name);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", class, entries[i]->d_name);
		ok = ok && take_organ(shared, base, path);
		free(entries[i]);
	}
	free(entries);
	return ok;
}

static struct slot *find_slot(struct shared *shared, const char *path)
{
	for (uint32_t i = 0; i < shared->slots; i++)
		if (strcmp(shared->slot[i].path, path) == 0)
			return &shared->slot[i];
	return NULL;
}

/* Add slots that the base lacks, and keys, for each process. */
static void add_others(struct shared *shared, unsigned processes)
{
	const struct slot *like = find_slot(shared, "organs/blk_0_ffn_up.bin");
	char path[64];
	struct slot *slot;

	for (unsigned i = 0; i < 2 * processes; i++) {
		snprintf(path, sizeof(path), "organs/blk_%u_ffn_up.bin", 40 + i);
		slot = like ? add_slot(shared, path) : NULL;
		if (slot) {
			slot->added = true;
			slot->like = like->like;
			slot->header = like->header;
			slot->size = like->size;
			slot->owner = i / 2;
		}
	}
	for (unsigned i = 0; i < 3 * processes; i++) {
		snprintf(path, sizeof(path), "metadata/fsfuzz.key%u", i);
		slot = add_slot(shared, path);
		if (slot) {
			slot->key = true;
			slot->owner = i / 3;
		}
	}
}

bool state_begin(struct shared *shared, const char *base, unsigned processes)
{
	static const char *const classes[] = { "embed", "norm", "organs", "skeleton" };

	if (memcmp(shared->magic, magic, sizeof(magic)) == 0) {
		if (shared->processes == processes)
			return true;
		fprintf(stderr, "fsfuzz: the state is of %u processes\n", shared->processes);
		return false;
	}
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!take_class(shared, base, classes[i]))
			return false;
	if (shared->slots < 2 * processes) {
		fprintf(stderr, "fsfuzz: %s has too few organs\n", base);
		return false;
	}
	/* Every eighth slot is shared. */
	for (uint32_t i = 0; i < shared->slots; i++)
		shared->slot[i].owner = i % 8 == 7 ? SHARED_OWNER : i % processes;
	add_others(shared, processes);
	shared->processes = processes;
	atomic_store(&shared->clock, 1);
	memcpy(shared->magic, magic, sizeof(magic));
	return true;
}

/* ## contents */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

void make_body(uint8_t *bytes, size_t n, uint64_t version)
{
	for (size_t i = 0; i < n; i += 8) {
		const uint64_t word = i ? mix(version * 0x10001 + i) : version;

		memcpy(bytes + i, &word, n - i < 8 ? n - i : 8);
	}
}

bool is_body(const uint8_t *bytes, size_t n)
{
	uint64_t version;

	if (n < 8)
		return false;
	memcpy(&version, bytes, 8);
	for (size_t i = 8; i < n; i += 8) {
		const uint64_t word = mix(version * 0x10001 + i);

		if (memcmp(bytes + i, &word, n - i < 8 ? n - i : 8) != 0)
			return false;
	}
	return true;
}

/* The slot named in the organ's header, or NULL. */
static const struct slot *slot_named(const struct fuzz *fuzz, const uint8_t *bytes, size_t n)
{
	for (uint32_t i = 0; i < fuzz->shared->slots; i++) {
		const struct slot *slot = &fuzz->shared->slot[i];
		const uint32_t name = slot->base.exists ? 4 + u32(slot->base.bytes) : 0;

		if (name && name <= n && memcmp(slot->base.bytes, bytes, name) == 0)
			return slot;
	}
	return NULL;
}

/* Do the paths of organs differ only in the block? */
static bool same_role(const struct slot *a, const struct slot *b)
{
	const char *x = a->path, *y = b->path;

	while (*x == *y && *x)
		x++, y++;
	x += strspn(x, "0123456789");
	y += strspn(y, "0123456789");
	return strcmp(x, y) == 0;
}

enum fit fits(const struct fuzz *fuzz, const struct slot *slot, const uint8_t *bytes, size_t n)
{
	const struct slot *like = &fuzz->shared->slot[slot->like], *named;
	const size_t name = 4 + (slot->key ? 0 : (size_t)u32(like->base.bytes));
	size_t header;

	if (slot->key)
		return FITS;
	/* An added slot accepts any organ with its name. */
	named = slot_named(fuzz, bytes, n);
	if (slot->added && named && n == named->size &&
	    memcmp(bytes, named->base.bytes, named->header) == 0)
		return same_role(named, like) ? FITS : FITS_MAYBE;
	if (n < 8 || u32(bytes) > 128 || n < 4 + u32(bytes) + (slot->header - name))
		return slot->added ? FITS_MAYBE : FITS_NOT;
	header = 4 + u32(bytes) + (slot->header - name);
	if (n - header != slot->size - slot->header ||
	    memcmp(bytes + header - (slot->header - name), like->base.bytes + name,
		   slot->header - name) != 0)
		return slot->added ? FITS_MAYBE : FITS_NOT;
	return named && (!slot->added || same_role(named, like)) ? FITS : FITS_MAYBE;
}

static bool same(const struct content *content, const uint8_t *bytes, long n)
{
	if (!content->exists || n < 0)
		return !content->exists && n < 0;
	return content->size == (size_t)n && memcmp(content->bytes, bytes, (size_t)n) == 0;
}

static void set(struct content *content, const uint8_t *bytes, size_t n)
{
	content->exists = bytes != NULL;
	content->size = bytes ? (uint32_t)n : 0;
	if (bytes)
		memcpy(content->bytes, bytes, n);
}

void begin_change(struct slot *slot, const uint8_t *bytes, size_t n)
{
	uint8_t text[MOST];

	/* A key shows the written text with one newline at its end. */
	if (bytes && slot->key) {
		memcpy(text, bytes, n);
		n -= n && text[n - 1] == '\n';
		text[n++] = '\n';
		bytes = text;
	}
	set(&slot->next, bytes, n);
	atomic_thread_fence(memory_order_seq_cst);
	slot->changing = true;
}

void end_changes(struct fuzz *fuzz, bool in_force)
{
	for (unsigned i = 0; i < fuzz->n_own; i++) {
		struct slot *slot = fuzz->own[i];

		if (!slot->changing)
			continue;
		/* Equal bytes count as a new generation too. */
		if (in_force) {
			fuzz->generation[slot_number(fuzz, slot)]++;
			slot->now = slot->next;
		}
		slot->changing = false;
	}
}

unsigned slot_number(const struct fuzz *fuzz, const struct slot *slot)
{
	return (unsigned)(slot - fuzz->shared->slot);
}

/* ## the comparison */

void state_tell(const struct process *process)
{
	const uint64_t done = atomic_load(&process->done);
	const uint64_t first = done > LINES - 1 ? done - (LINES - 1) : 1;

	for (uint64_t i = first; i <= done; i++)
		printf("%8llu %s\n", (unsigned long long)i, process->lines[i % LINES]);
}

static const char *what_it_is(const struct slot *slot, const uint8_t *bytes, long n)
{
	if (same(&slot->base, bytes, n))
		return "as in the base";
	if (n > (long)slot->header && is_body(bytes + slot->header, (size_t)n - slot->header))
		return "a whole organ";
	return n < 0 ? "nothing" : "of some other kind";
}

static bool check_own(struct slot *slot, const uint8_t *bytes, long n, int *changed, int *unchanged)
{
	const bool new = slot->changing &&same(&slot->next, bytes, n);
	const bool old = same(&slot->now, bytes, n);

	if (!old && !new) {
		printf("%s: %ld bytes, %s, neither the confirmed content (%d, %u bytes)%s\n",
		       slot->path, n, what_it_is(slot, bytes, n), slot->now.exists, slot->now.size,
		       slot->changing ? " nor the begun one" : "");
		return false;
	}
	*changed += slot->changing && !old;
	*unchanged += slot->changing && !new;
	set(&slot->now, n < 0 ? NULL : bytes, n < 0 ? 0 : (size_t)n);
	slot->changing = false;
	return true;
}

static bool check_shared(struct slot *slot, const uint8_t *bytes, long n)
{
	uint64_t version = 0;

	if (same(&slot->base, bytes, n) && atomic_load(&slot->versions) == 0)
		return true;
	if (n == (long)slot->size && is_body(bytes + slot->header, slot->size - slot->header)) {
		memcpy(&version, bytes + slot->header, 8);
		if (version && version <= atomic_load(&slot->versions))
			return true;
	}
	/* Was no write ever confirmed? */
	for (unsigned i = 0; i < WRITES_KEPT; i++)
		if (slot->writes[i].end)
			n = -1;
	if (same(&slot->base, bytes, n))
		return true;
	printf("%s: %ld bytes, version %llu of %llu, which is no whole version\n", slot->path, n,
	       (unsigned long long)version, (unsigned long long)atomic_load(&slot->versions));
	return false;
}

bool state_check(struct shared *shared, const char *mnt)
{
	static uint8_t bytes[MOST];
	int changed[PROCESSES_MAX] = { 0 }, unchanged[PROCESSES_MAX] = { 0 };
	char path[PATH_MAX];
	bool ok = true;

	for (uint32_t i = 0; i < shared->slots; i++) {
		struct slot *slot = &shared->slot[i];
		long n;

		snprintf(path, sizeof(path), "%s/%s", mnt, slot->path);
		n = read_whole(path, bytes);
		if (n < 0 && errno != ENOENT) {
			printf("%s: %s\n", slot->path, strerror(errno));
			ok = false;
		} else if (slot->owner == SHARED_OWNER) {
			ok &= check_shared(slot, bytes, n);
		} else if (!check_own(slot, bytes, n, &changed[slot->owner],
				      &unchanged[slot->owner])) {
			state_tell(&shared->process[slot->owner]);
			ok = false;
		}
	}
	for (uint32_t i = 0; i < shared->processes; i++)
		if (changed[i] && unchanged[i]) {
			printf("process %u: half of one operation is in force\n", i);
			ok = false;
		}
	return ok;
}

/* ## of a process */

uint64_t milliseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* xorshift64* */
uint64_t next_random(struct fuzz *fuzz)
{
	fuzz->random ^= fuzz->random >> 12;
	fuzz->random ^= fuzz->random << 25;
	fuzz->random ^= fuzz->random >> 27;
	return fuzz->random * 0x2545f4914f6cdd1d;
}

uint64_t below(struct fuzz *fuzz, uint64_t n)
{
	return n ? (next_random(fuzz) >> 16) % n : 0;
}

bool one_in(struct fuzz *fuzz, unsigned n)
{
	return below(fuzz, n) == 0;
}

struct slot *any_slot(struct fuzz *fuzz, bool key)
{
	struct slot *slot;

	do
		slot = fuzz->own[below(fuzz, fuzz->n_own)];
	while (slot->key != key);
	return slot;
}

void path_of(const struct fuzz *fuzz, const char *name, char path[4096])
{
	snprintf(path, 4096, "%s/%s", fuzz->mnt, name);
}

void say(struct fuzz *fuzz, const char *format, ...)
{
	struct process *me = fuzz->me;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(me->lines[(atomic_load(&me->done) + 1) % LINES], LINE, format, arguments);
	va_end(arguments);
	atomic_fetch_add(&me->done, 1);
	atomic_store(&me->since, milliseconds());
}

void say_more(struct fuzz *fuzz, const char *format, ...)
{
	char *line = fuzz->me->lines[atomic_load(&fuzz->me->done) % LINES];
	const size_t n = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + n, LINE - n, format, arguments);
	va_end(arguments);
}

/* Is the daemon gone? */
static bool is_gone(const struct fuzz *fuzz)
{
	char path[4096];
	int fd;

	path_of(fuzz, ".log", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno != EMFILE && errno != ENFILE;
}

void wrong(struct fuzz *fuzz, const char *format, ...)
{
	const int error = errno;
	va_list arguments;

	if (is_gone(fuzz))
		_exit(GONE);
	errno = error;
	va_start(arguments, format);
	vsnprintf(fuzz->me->found, sizeof(fuzz->me->found), format, arguments);
	va_end(arguments);
	_exit(FOUND);
}

void expect(struct fuzz *fuzz, long rc, int expected, const char *what)
{
	const int error = errno;

	if (expected == 0 && rc >= 0)
		return;
	if (expected && rc < 0 && error == expected)
		return;
	wrong(fuzz, "%s: %s, not %s", what, rc < 0 ? strerror(error) : "success",
	      expected ? strerror(expected) : "success");
}
