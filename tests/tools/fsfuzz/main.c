/* SPDX-License-Identifier: MIT */
/* main.c - fsfuzz: random system calls of several processes on a mount, each checked against a
 * model of the mount's state (fsfuzz.h).
 *
 *	fsfuzz [OPTIONS] MNT BASE     until --seconds are over, or something is found
 *	fsfuzz --check --state FILE MNT BASE     compare the mount with FILE
 *
 * BASE is a directory with the model's organ files, CLASS/NAME.bin. --state keeps the known state
 * of the mount in a file, for the next run after a kill of the daemon, or for another mount of the
 * same layer. The same --seed and --processes give each process the same choices, but another
 * interleaving; --only N runs process N alone, --operations M ends after M operations, and --trace
 * logs each to stderr.
 *
 * Exit status: 0; 1 with the find and the operations before it; 3 if the daemon is gone. */
#include "fsfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct settings {
	const char *mnt, *base, *state;
	uint64_t seed, operations;
	unsigned seconds, processes, patience; /* patience: seconds that one operation may take */
	int only;			       /* -1: all */
	bool check, trace;
};

struct operation {
	void (*run)(struct fuzz *fuzz);
	unsigned weight;
};

static const struct operation operations[] = {
	{ read_handle, 120 },	   { map_handle, 40 },	  { look_at_handle, 30 },
	{ write_handle, 80 },	   { write_organ, 60 },	  { truncate_handle, 25 },
	{ write_map, 25 },	   { sync_handle, 10 },	  { lock_handle, 5 },
	{ copy_range, 30 },	   { refuse_handle, 4 },  { fork_handle, 12 },
	{ open_reader, 60 },	   { open_writer, 60 },	  { close_handle, 110 },
	{ duplicate_handle, 15 },  { remove_slot, 20 },	  { move_slot, 20 },
	{ link_slot, 20 },	   { undo_slot, 12 },	  { look_at_slot, 60 },
	{ attributes_of_slot, 8 }, { touch_slot, 5 },	  { refuse_slot, 5 },
	{ outlive_close, 8 },	   { kill_writer, 4 },	  { list_class, 10 },
	{ open_scratch, 40 },	   { make_scratch, 25 },  { remove_scratch, 12 },
	{ close_private, 8 },	   { rename_private, 4 }, { rename_scratch, 20 },
	{ link_scratch, 12 },	   { graft_scratch, 30 }, { set_aside, 10 },
	{ read_generated, 12 },	   { read_common, 40 },	  { write_common, 25 },
	{ read_base, 6 },	   { refuse_common, 3 },  { walk, 4 },
};

#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

_Static_assert(N_OPERATIONS <= OPERATIONS_MAX, "room for their weights");

/* Weight some operations eight times and others an eighth in every other process, so that rare
 * combinations occur. (Groce and others, "Swarm testing", ISSTA 2012, leave operations out.) */
static void choose_weights(struct fuzz *fuzz, bool plain)
{
	for (size_t i = 0; i < N_OPERATIONS; i++) {
		const unsigned which = (unsigned)below(fuzz, 4);

		fuzz->weight[i] = operations[i].weight * 8;
		if (which == 0 && !plain)
			fuzz->weight[i] /= 8;
		else if (which == 1 && !plain)
			fuzz->weight[i] *= 8;
		fuzz->weights += fuzz->weight[i];
	}
}

/* ## a process */

static sigjmp_buf lost_page;

static void on_bus(int number)
{
	(void)number;
	siglongjmp(lost_page, 1);
}

static void step(struct fuzz *fuzz)
{
	unsigned at = (unsigned)below(fuzz, fuzz->weights);
	uint64_t before;
	size_t i = 0;

	while (at >= fuzz->weight[i])
		at -= fuzz->weight[i++];
	before = atomic_load(&fuzz->me->done);
	operations[i].run(fuzz);
	if (fuzz->trace && atomic_load(&fuzz->me->done) != before)
		fprintf(stderr, "%u %s\n", fuzz->number,
			fuzz->me->lines[atomic_load(&fuzz->me->done) % LINES]);
	atomic_store(&fuzz->me->since, 0);
}

static void begin(struct fuzz *fuzz, const struct settings *settings, struct shared *shared,
		  unsigned number)
{
	char path[4096];
	int fd;

	fuzz->mnt = settings->mnt;
	fuzz->shared = shared;
	fuzz->me = &shared->process[number];
	fuzz->number = number;
	fuzz->trace = settings->trace;
	fuzz->random = (settings->seed * 64 + number) * 2 + 1;
	for (int i = 0; i < 16; i++)
		next_random(fuzz);
	choose_weights(fuzz, (settings->seed + number) % 2 == 0);
	for (uint32_t i = 0; i < shared->slots; i++)
		if (shared->slot[i].owner == number)
			fuzz->own[fuzz->n_own++] = &shared->slot[i];
	fuzz->memory = memfd_create("fsfuzz", MFD_CLOEXEC);
	if (fuzz->memory < 0 || pipe2(fuzz->pipe, O_CLOEXEC) < 0)
		wrong(fuzz, "begin: %s", strerror(errno));
	fuzz->handles_work = geteuid() == 0;
	begin_scratches(fuzz);
	drop_scratches(fuzz);
	/* The kernel allows shared maps of files open for direct I/O if libfuse asks for them. */
	path_of(fuzz, ".theta", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

		fuzz->maps_of_direct = map != MAP_FAILED;
		close(fd);
	}
}

static void end(struct fuzz *fuzz)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (fuzz->handle[i].kind != CLOSED)
			close_this(fuzz, &fuzz->handle[i]);
	drop_scratches(fuzz);
	atomic_store(&fuzz->me->since, 0);
}

static int work(const struct settings *settings, struct shared *shared, unsigned number)
{
	static struct fuzz fuzz;
	struct process *me = &shared->process[number];
	const uint64_t over = milliseconds() + settings->seconds * (uint64_t)1000;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGBUS, on_bus);
	signal(SIGIO, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	fuzz.me = me;
	if (sigsetjmp(lost_page, 1))
		wrong(&fuzz, "a page of a map cannot be read");
	begin(&fuzz, settings, shared, number);
	while (milliseconds() < over &&
	       (settings->operations == 0 || atomic_load(&me->done) < settings->operations))
		step(&fuzz);
	end(&fuzz);
	return FINE;
}

/* ## the whole run */

static void tell(const struct settings *settings, const struct process *process, unsigned number)
{
	const uint64_t done = atomic_load(&process->done);

	state_tell(process);
	printf("process %u, operation %llu: %s\n", number, (unsigned long long)done,
	       process->found[0] ? process->found : "it hangs, or has crashed");
	printf("replay: fsfuzz --seed %llu --processes %u --only %u --operations %llu MNT BASE\n",
	       (unsigned long long)settings->seed, settings->processes, number,
	       (unsigned long long)done);
}

static bool hangs(const struct settings *settings, const struct process *process)
{
	const uint64_t since = atomic_load(&process->since);

	return since && milliseconds() > since + settings->patience * (uint64_t)1000;
}

static void end_all(struct shared *shared)
{
	for (unsigned i = 0; i < shared->processes; i++) {
		const int pid = atomic_load(&shared->process[i].pid);

		if (pid > 0)
			kill(pid, SIGKILL);
	}
}

/* Wait for the processes; the first find ends all others. Returns the worst exit status. */
static int watch(const struct settings *settings, struct shared *shared, unsigned running)
{
	int worst = FINE;

	while (running) {
		int status;
		const pid_t pid = waitpid(-1, &status, WNOHANG);

		for (unsigned i = 0; i < shared->processes; i++) {
			struct process *process = &shared->process[i];
			const bool ended = pid > 0 && atomic_load(&process->pid) == pid;
			const int rc = ended && WIFEXITED(status) ? WEXITSTATUS(status) : FOUND;

			if (!ended && !(atomic_load(&process->pid) && hangs(settings, process)))
				continue;
			running -= ended;
			atomic_store(&process->pid, ended ? 0 : atomic_load(&process->pid));
			if (worst != FOUND && rc == FOUND) {
				tell(settings, process, i);
				end_all(shared);
				/* A process that hangs may survive the kill. */
				if (!ended)
					return FOUND;
			}
			worst = worst == FOUND || rc == FOUND ? FOUND : rc ? rc : worst;
		}
		if (pid <= 0)
			usleep(20000);
	}
	return worst;
}

static int run(const struct settings *settings, struct shared *shared)
{
	unsigned running = 0;
	uint64_t done = 0;
	int rc;

	printf("fsfuzz: seed %llu, %u processes\n", (unsigned long long)settings->seed,
	       settings->processes);
	fflush(stdout);
	for (unsigned i = 0; i < settings->processes; i++) {
		memset(&shared->process[i], 0, sizeof(shared->process[i]));
		if (settings->only >= 0 && (unsigned)settings->only != i)
			continue;
		const pid_t pid = fork();

		if (pid == 0)
			_exit(work(settings, shared, i));
		if (pid < 0)
			continue;
		atomic_store(&shared->process[i].pid, pid);
		running++;
	}
	rc = watch(settings, shared, running);
	for (unsigned i = 0; i < settings->processes; i++)
		done += atomic_load(&shared->process[i].done);
	printf("%llu operations%s\n", (unsigned long long)done,
	       rc == GONE ? ", then the daemon was gone" : "");
	return rc;
}

static bool read_settings(int argc, char **argv, struct settings *settings)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "processes", required_argument, NULL, 'p' },
		{ "operations", required_argument, NULL, 'n' },
		{ "only", required_argument, NULL, 'o' },
		{ "patience", required_argument, NULL, 'w' },
		{ "state", required_argument, NULL, 'f' },
		{ "check", no_argument, NULL, 'c' },
		{ "trace", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		const uint64_t number = optarg ? strtoull(optarg, NULL, 0) : 0;

		if (option == 's')
			settings->seed = number;
		else if (option == 't')
			settings->seconds = (unsigned)number;
		else if (option == 'p')
			settings->processes = (unsigned)number;
		else if (option == 'n')
			settings->operations = number;
		else if (option == 'o')
			settings->only = (int)number;
		else if (option == 'w')
			settings->patience = (unsigned)number;
		else if (option == 'f')
			settings->state = optarg;
		else if (option == 'c')
			settings->check = true;
		else if (option == 'v')
			settings->trace = true;
		else
			return false;
	}
	if (optind + 2 != argc || settings->processes < 1 || settings->processes > PROCESSES_MAX)
		return false;
	settings->mnt = argv[optind];
	settings->base = argv[optind + 1];
	return true;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.seed = 1, .seconds = 10, .processes = 4, .patience = 60, .only = -1
	};
	struct shared *shared;

	if (!read_settings(argc, argv, &settings)) {
		fprintf(stderr, "usage: fsfuzz [--seed N] [--seconds N] [--processes N] "
				"[--operations N] [--only N] [--patience N] [--state FILE] "
				"[--trace] [--check] MNT BASE\n");
		return USAGE;
	}
	shared = state_open(settings.state);
	if (!shared || !state_begin(shared, settings.base, settings.processes))
		return USAGE;
	if (settings.check)
		return state_check(shared, settings.mnt) ? FINE : FOUND;
	return run(&settings, shared);
}
