/* SPDX-License-Identifier: MIT */
/* readings.c - see readings.h. */
#include "fs/readings.h"
#include "fs/pool.h"
#include "fs/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* How soon an interrupt is noticed. */
#define MOMENT_NS 20000000L

struct readings {
	struct model *model;
	uint64_t samples;
	struct pool *pool, *own; /* own: NULL, or the pool */
	pthread_mutex_t lock;	 /* protects what follows, and readings but for their waiting */
	pthread_cond_t done;
	bool stopped;
	uint64_t count;
	uint64_t asked;	       /* how often somebody has asked */
	struct reading base[]; /* one a tensor */
};

unsigned readings_threads(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 64 ? 64 : (unsigned)n;
}

struct readings *readings_new(struct model *model, uint64_t samples, struct pool *pool)
{
	const size_t n = model->gguf->n_tensors;
	/* Zeros are readings that nobody has asked for: no page of it is touched before. */
	struct readings *readings = calloc(1, sizeof(*readings) + n * sizeof(readings->base[0]));
	pthread_condattr_t monotonic;

	if (!readings)
		return NULL;
	readings->model = model;
	readings->samples = samples;
	readings->own = pool ? NULL : pool_new(readings_threads());
	readings->pool = pool ? pool : readings->own;
	if (!readings->pool) {
		free(readings);
		return NULL;
	}
	pthread_mutex_init(&readings->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&readings->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return readings;
}

void readings_stop(struct readings *readings)
{
	pthread_mutex_lock(&readings->lock);
	readings->stopped = true;
	pthread_cond_broadcast(&readings->done);
	pthread_mutex_unlock(&readings->lock);
}

void readings_free(struct readings *readings)
{
	if (!readings)
		return;
	pool_free(readings->own);
	pthread_cond_destroy(&readings->done);
	pthread_mutex_destroy(&readings->lock);
	free(readings);
}

struct measure_job {
	struct readings *readings;
	struct reading *reading;
	struct subject subject; /* with a reference of its own */
};

static struct reading *reading_of(struct readings *readings, const struct subject *subject)
{
	return subject->content ? &subject->content->reading : &readings->base[subject->tensor];
}

static bool is_wanted(void *context)
{
	const struct reading *reading = context;

	return atomic_load_explicit(&reading->waiting, memory_order_relaxed) > 0;
}

static int measure(struct readings *readings, const struct subject *subject,
		   struct reading *reading, struct zmeasure *result)
{
	const struct model *model = readings->model;
	const struct content *content = subject->content;
	const struct organ organ = model_organ(model, subject->tensor, content);
	uint64_t offset = content ? content->offset : model->gguf->tensors[subject->tensor].offset;
	uint64_t length = organ.data_size;
	struct backing *file =
		backing_part(content ? content->file : model->base, &offset, &length);
	struct sampling sampling = {
		.file = file,
		.offset = offset,
		.type = organ.type,
		.samples = readings->samples,
		.wanted = is_wanted,
		.context = reading,
	};

	/* Of a shard that is gone, what was not measured in time is not known. */
	if (!file || backing_has_ended(file))
		return -ENOTSUP;
	shape_elements(organ.ne, &sampling.elements);
	return sampling_measure(&sampling, result);
}

static void run_job(void *argument)
{
	struct measure_job *job = argument;
	struct readings *readings = job->readings;
	struct reading *reading = job->reading;
	struct zmeasure result;
	int rc = -EINTR;

	if (is_wanted(reading))
		rc = measure(readings, &job->subject, reading, &result);
	pthread_mutex_lock(&readings->lock);
	if (rc == -EINTR) {
		reading->state = READING_NONE;
	} else {
		reading->state = READING_DONE;
		reading->error = rc;
		if (rc == 0)
			reading->result = result;
		readings->count++;
	}
	pthread_cond_broadcast(&readings->done);
	pthread_mutex_unlock(&readings->lock);
	content_unref(job->subject.content);
	free(job);
}

/* With the lock held, for a reading in READING_NONE. */
static int begin(struct readings *readings, const struct subject *subject, struct reading *reading)
{
	struct measure_job *job = malloc(sizeof(*job));
	int rc;

	if (!job)
		return -ENOMEM;
	*job = (struct measure_job){ readings, reading, *subject };
	if (subject->content)
		content_ref(subject->content);
	reading->state = READING_BEGUN;
	reading->begun = readings->asked;
	rc = pool_submit(readings->pool, run_job, job);
	if (rc < 0) {
		reading->state = READING_NONE;
		content_unref(job->subject.content);
		free(job);
	}
	return rc;
}

static bool has_failed(const struct reading *reading)
{
	return reading->state == READING_DONE && reading->error && reading->error != -ENOTSUP;
}

static void wait_a_moment(struct readings *readings)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += MOMENT_NS;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&readings->done, &readings->lock, &until);
}

/* With the lock held. A job may have given up just before we came, or fail for a reason that is
 * gone since, so it may have to be begun anew. */
static int await(struct readings *readings, const struct subject *subject, uint64_t asked,
		 const atomic_bool *stop)
{
	struct reading *reading = reading_of(readings, subject);
	int rc = 0;

	for (;;) {
		if (readings->stopped || (stop && atomic_load(stop)))
			return -EINTR;
		if (has_failed(reading) && reading->begun < asked)
			reading->state = READING_NONE;
		if (reading->state == READING_DONE)
			return has_failed(reading) ? reading->error : 0;
		if (reading->state == READING_NONE)
			rc = begin(readings, subject, reading);
		if (rc < 0)
			return rc;
		wait_a_moment(readings);
	}
}

int readings_prepare(struct readings *readings, const struct subject *subjects, size_t n,
		     const atomic_bool *stop)
{
	uint64_t asked;
	int rc = 0;

	pthread_mutex_lock(&readings->lock);
	asked = ++readings->asked;
	for (size_t i = 0; i < n; i++) {
		struct reading *reading = reading_of(readings, &subjects[i]);

		atomic_fetch_add(&reading->waiting, 1);
		if (has_failed(reading))
			reading->state = READING_NONE;
		if (rc == 0 && reading->state == READING_NONE && !readings->stopped)
			rc = begin(readings, &subjects[i], reading);
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = await(readings, &subjects[i], asked, stop);
	for (size_t i = 0; i < n; i++)
		atomic_fetch_sub(&reading_of(readings, &subjects[i])->waiting, 1);
	pthread_mutex_unlock(&readings->lock);
	return rc;
}

int readings_get(struct readings *readings, const struct subject *subject, const atomic_bool *stop,
		 struct zmeasure *result)
{
	struct reading *reading = reading_of(readings, subject);
	int rc = readings_prepare(readings, subject, 1, stop);

	if (rc < 0)
		return rc;
	/* What is done well stays done. */
	pthread_mutex_lock(&readings->lock);
	rc = reading->error;
	*result = reading->result;
	pthread_mutex_unlock(&readings->lock);
	return rc;
}

/* Has the base the same bytes for both tensors? */
static bool is_same(const struct model *model, uint32_t tensor, const struct model *other,
		    uint32_t of_other)
{
	const struct gguf_tensor *a = &model->gguf->tensors[tensor];
	const struct gguf_tensor *b = &other->gguf->tensors[of_other];
	uint64_t at = a->offset, there = b->offset, length = a->size, as_long = b->size;
	const struct backing *file = backing_part(model->base, &at, &length);

	return file && file == backing_part(other->base, &there, &as_long) && at == there &&
	       length == as_long;
}

void readings_inherit(struct readings *readings, struct readings *old)
{
	const struct gguf *gguf = readings->model->gguf, *before = old->model->gguf;

	pthread_mutex_lock(&old->lock);
	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];
		const struct gguf_tensor *was = gguf_tensor(before, t->name, t->name_length);
		const struct reading *known = was ? &old->base[was - before->tensors] : NULL;

		if (!known || known->state != READING_DONE || known->error ||
		    !is_same(readings->model, i, old->model, (uint32_t)(was - before->tensors)))
			continue;
		readings->base[i].state = READING_DONE;
		readings->base[i].result = known->result;
	}
	readings->count = old->count;
	pthread_mutex_unlock(&old->lock);
}

uint64_t readings_count(struct readings *readings)
{
	uint64_t count;

	pthread_mutex_lock(&readings->lock);
	count = readings->count;
	pthread_mutex_unlock(&readings->lock);
	return count;
}
