/* SPDX-License-Identifier: MIT */
/* session_loop.c - see session_loop.h. */
#include "fs/fuse/session_loop.h"
#include "fs/model/inode.h"
#include "fs/storage/read_threads.h"
#include "gguf/bytes.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Interrupts a thread that waits in read(2). */
#define WAKE_SIGNAL SIGUSR2

/* Tells the main thread that the mount has ended. */
#define DONE_SIGNAL SIGUSR1

/* A request in the queue for the next free thread. */
struct waiting_request {
	struct waiting_request *next;
	struct fuse_buf request;
	char bytes[];
};

struct loop {
	struct fuse_session *session;
	struct read_threads *read_threads;
	void (*connected)(void *context);
	bool (*hung_up)(void *context);
	void *context;
	pthread_t main;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t turn;  /* signalled when no thread waits for requests */
	bool waiting;	      /* a thread waits for requests */
	bool over;
	int error;
	struct waiting_request *first, **last; /* the queue, while all other threads are busy */
	unsigned idle, started, most;
	/* The last READ that the waiting thread took: file handle and end offset. */
	uint64_t read_of, read_end;
	pthread_t threads[];
};

/* Opcodes in the kernel's protocol (enum fuse_opcode in linux/fuse.h). */
enum quick {
	LOOKUP = 1,
	FORGET = 2,
	GETATTR = 3,
	OPEN = 14,
	READ = 15,
	STATFS = 17,
	GETXATTR = 22,
	LISTXATTR = 23,
	INIT = 26,
	OPENDIR = 27,
	READDIR = 28,
	RELEASEDIR = 29,
	INTERRUPT = 36,
	POLL = 40,
	BATCH_FORGET = 42,
	READDIRPLUS = 44,
};

/* Opcode of a request, whose header begins with length and opcode as u32, then its own and the
 * inode's number as u64. 0: not a request. */
static uint32_t kind_of(const struct fuse_buf *request)
{
	if ((request->flags & FUSE_BUF_IS_FD) || request->size < 24)
		return 0;
	return load_u32((const uint8_t *)request->mem + 4);
}

static uint64_t inode_of_request(const struct fuse_buf *request)
{
	return load_u64((const uint8_t *)request->mem + 16);
}

/* The name of a LOOKUP follows the header of 40 bytes. */
static bool is_hidden_name(const struct fuse_buf *request)
{
	return request->size > 40 && ((const char *)request->mem)[40] == '.';
}

/* Whether the directory has files generated from the state of all tensors. */
static bool has_generated(uint64_t ino)
{
	return ino == INODE_ROOT || inode_kind(ino) == INODE_MODEL || inode_kind(ino) == INODE_BASE;
}

/* Whether the inode belongs to metadata: the first request for a key of the base reads from
 * disk. */
static bool is_of_keys(uint64_t ino)
{
	const unsigned kind = inode_kind(ino);

	return kind == INODE_METADATA || kind == INODE_KEY || kind == INODE_BASE_METADATA ||
	       kind == INODE_BASE_KEY;
}

/* Whether the request is answered from memory. Roots have files that may have to be generated, and
 * class directories have .theta. */
static bool is_quick(const struct fuse_buf *request)
{
	switch (kind_of(request)) {
	case LOOKUP:
		if (is_hidden_name(request))
			return false;
		__attribute__((fallthrough));
	case READDIRPLUS:
		if (is_of_keys(inode_of_request(request)))
			return false;
		__attribute__((fallthrough));
	case READDIR:
		return !has_generated(inode_of_request(request));
	case GETATTR:
	case OPEN:
		return !is_of_keys(inode_of_request(request));
	case FORGET:
	case GETXATTR:
	case LISTXATTR:
	case INIT:
	case OPENDIR:
	case RELEASEDIR:
	case INTERRUPT:
	case POLL:
	case BATCH_FORGET:
		return true;
	default:
		return false;
	}
}

/* A read of at most this many bytes in memory takes less time than waking another thread. */
#define AT_ONCE_MOST ((uint32_t)128 << 10)

/* A larger read that continues the last one is also made at once, while reads of several files go
 * to several threads. After the header come file handle and offset as u64, and the size as u32. */
static bool is_read_at_once(struct loop *loop, const struct fuse_buf *request)
{
	const uint8_t *bytes = request->mem;
	uint64_t of, offset;
	uint32_t size;
	bool goes_on;

	if (kind_of(request) != READ || request->size < 60)
		return false;
	of = load_u64(bytes + 40);
	offset = load_u64(bytes + 48);
	size = load_u32(bytes + 56);
	goes_on = of == loop->read_of && offset == loop->read_end;
	loop->read_of = of;
	loop->read_end = offset + size;
	return size <= AT_ONCE_MOST || goes_on;
}

/* Answer a request without waiting for a disk on this thread (read_threads.h). */
static void answer_without_waiting(struct loop *loop, const struct fuse_buf *request)
{
	read_threads_set_alone(loop->read_threads, true);
	fuse_session_process_buf(loop->session, request);
	read_threads_set_alone(loop->read_threads, false);
}

static void *work(void *argument);

/* Let another thread wait for requests. False: all others are busy, or about to answer queued
 * requests. An idle thread that was woken for the queue could take over the waiting first, and
 * leave the queue to a thread that may never return. */
static bool pass_on(struct loop *loop)
{
	bool passes = true, wakes;

	pthread_mutex_lock(&loop->lock);
	wakes = loop->idle && !loop->first;
	if (!wakes && loop->started < loop->most &&
	    pthread_create(&loop->threads[loop->started], NULL, work, loop) == 0)
		loop->started++;
	else
		passes = wakes;
	if (passes)
		loop->waiting = false;
	pthread_mutex_unlock(&loop->lock);
	/* Signal after the unlock, else the woken thread would block on the lock. */
	if (wakes)
		pthread_cond_signal(&loop->turn);
	return passes;
}

/* Queue a request for the next free thread. Call with the lock held. False: its bytes are not in
 * memory (splice), or out of memory. */
static bool defer_request(struct loop *loop, const struct fuse_buf *request)
{
	struct waiting_request *waiting =
		request->flags & FUSE_BUF_IS_FD ? NULL : malloc(sizeof(*waiting) + request->size);

	if (!waiting)
		return false;
	waiting->next = NULL;
	waiting->request = *request;
	waiting->request.mem = memcpy(waiting->bytes, request->mem, request->size);
	*loop->last = waiting;
	loop->last = &waiting->next;
	/* A thread may have become idle since. */
	pthread_cond_signal(&loop->turn);
	return true;
}

/* Answer the first request in the queue. Call with the lock held. */
static void run_deferred(struct loop *loop)
{
	struct waiting_request *waiting = loop->first;

	loop->first = waiting->next;
	if (!loop->first)
		loop->last = &loop->first;
	pthread_mutex_unlock(&loop->lock);
	fuse_session_process_buf(loop->session, &waiting->request);
	free(waiting);
	pthread_mutex_lock(&loop->lock);
}

/* This thread waits for requests, has one that may block, and found no thread to pass the waiting
 * on to. Reads go to the threads of read_threads.h, all else but STATFS to the queue. A session of
 * one thread answers by itself. */
static void answer_alone(struct loop *loop, const struct fuse_buf *request)
{
	const uint32_t kind = kind_of(request);
	bool is_deferred = false;

	if (loop->most > 1 && kind != READ && kind != STATFS) {
		pthread_mutex_lock(&loop->lock);
		is_deferred = loop->started > 1 && defer_request(loop, request);
		pthread_mutex_unlock(&loop->lock);
	}
	if (is_deferred)
		return;
	answer_without_waiting(loop, request);
}

/* Out of memory for this thread's buffer. Let a thread that has a buffer wait, as the first one
 * does, and come back after a moment. */
static void yield_lead(struct loop *loop)
{
	const struct timespec moment = { .tv_nsec = 10000000 };

	pthread_mutex_lock(&loop->lock);
	loop->waiting = false;
	pthread_mutex_unlock(&loop->lock);
	pthread_cond_signal(&loop->turn);
	nanosleep(&moment, NULL);
}

/* Wait for a request that is not quick, answer the quick ones, and pass the waiting on. False:
 * there is no request for this thread, because the mount has ended or memory is short. */
static bool next_request(struct loop *loop, struct fuse_buf *request)
{
	for (;;) {
		const int n = fuse_session_receive_buf(loop->session, request);

		if (n == -EINTR && !fuse_session_exited(loop->session))
			continue;
		if (n == -ENOMEM && !fuse_session_exited(loop->session)) {
			yield_lead(loop);
			return false;
		}
		if (n <= 0) {
			pthread_mutex_lock(&loop->lock);
			loop->over = true;
			/* The kernel answers ECONNABORTED, not ENODEV, if it ends the
			 * connection while it hands over a request. */
			if (n < 0 && n != -EINTR && n != -ECONNABORTED)
				loop->error = n;
			pthread_cond_broadcast(&loop->turn);
			pthread_mutex_unlock(&loop->lock);
			pthread_kill(loop->main, DONE_SIGNAL);
			return false;
		}
		if (is_quick(request)) {
			fuse_session_process_buf(loop->session, request);
			if (kind_of(request) == INIT)
				loop->connected(loop->context);
		} else if (is_read_at_once(loop, request)) {
			answer_without_waiting(loop, request);
		} else if (pass_on(loop)) {
			return true;
		} else {
			answer_alone(loop, request);
		}
	}
}

static void *work(void *argument)
{
	struct loop *loop = argument;
	struct fuse_buf request = { .mem = NULL };
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, WAKE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	pthread_mutex_lock(&loop->lock);
	while (!loop->over) {
		if (loop->waiting && loop->first) {
			run_deferred(loop);
			continue;
		}
		if (loop->waiting) {
			loop->idle++;
			pthread_cond_wait(&loop->turn, &loop->lock);
			loop->idle--;
			continue;
		}
		loop->waiting = true;
		pthread_mutex_unlock(&loop->lock);
		if (next_request(loop, &request))
			fuse_session_process_buf(loop->session, &request);
		pthread_mutex_lock(&loop->lock);
	}
	pthread_mutex_unlock(&loop->lock);
	free(request.mem);
	return NULL;
}

/* Wake the threads until they have ended: a thread may be just about to block in read(2). */
static void stop(struct loop *loop)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	fuse_session_exit(loop->session);
	pthread_mutex_lock(&loop->lock);
	while (!loop->over) {
		for (unsigned i = 0; i < loop->started; i++)
			pthread_kill(loop->threads[i], WAKE_SIGNAL);
		pthread_mutex_unlock(&loop->lock);
		nanosleep(&moment, NULL);
		pthread_mutex_lock(&loop->lock);
	}
	pthread_mutex_unlock(&loop->lock);
	for (unsigned i = 0; i < loop->started; i++)
		pthread_join(loop->threads[i], NULL);
	/* No process waits for these answers: the mount has ended. */
	while (loop->first) {
		struct waiting_request *waiting = loop->first;

		loop->first = waiting->next;
		free(waiting);
	}
}

static void ignore_signal(int number)
{
	(void)number;
}

static int run(struct loop *loop, const sigset_t *ending)
{
	int number, rc;

	/* With the lock held, because the thread may pass the waiting on before it is counted. */
	pthread_mutex_lock(&loop->lock);
	rc = pthread_create(&loop->threads[0], NULL, work, loop);
	if (rc == 0)
		loop->started++;
	pthread_mutex_unlock(&loop->lock);
	if (rc != 0)
		return -rc;
	while (sigwait(ending, &number) == 0 && number == SIGHUP && loop->hung_up(loop->context))
		;
	stop(loop);
	return loop->error;
}

int session_loop(struct fuse_session *session, unsigned threads, struct read_threads *read_threads,
		 void (*connected)(void *context), bool (*hung_up)(void *context), void *context)
{
	/* Without SA_RESTART, so that the signal ends read(2). */
	const struct sigaction wake = { .sa_handler = ignore_signal };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct loop *loop = calloc(1, sizeof(*loop) + threads * sizeof(loop->threads[0]));
	sigset_t ending, blocked, before;
	int rc;

	if (!loop)
		return -ENOMEM;
	loop->session = session;
	loop->read_threads = read_threads;
	loop->last = &loop->first;
	loop->connected = connected;
	loop->hung_up = hung_up;
	loop->context = context;
	loop->main = pthread_self();
	loop->most = threads;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->turn, NULL);
	sigaction(WAKE_SIGNAL, &wake, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&ending);
	sigaddset(&ending, SIGHUP);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, DONE_SIGNAL);
	blocked = ending;
	sigaddset(&blocked, WAKE_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	rc = run(loop, &ending);
	/* A pending signal would end the process now. */
	sigaction(DONE_SIGNAL, &ignore, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_cond_destroy(&loop->turn);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
	return rc;
}
