/* SPDX-License-Identifier: MIT */
/* remote_http.c - see remote_http.h. A call drives its requests itself, on the thread of the
 * caller, with a multi handle of curl that keeps its connections for the next call. One request is
 * remote_transfer.c's. */
#include "fs/storage/remote_http.h"
#include "fs/storage/hub_token.h"
#include "fs/storage/remote_transfer.h"
#include "fs/util/clock.h"
#include "fs/util/cond_poll.h"
#include "fs/util/credentials.h"
#include "fs/util/syscall_filter.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tries of a request, which also ends after REMOTE_PATIENCE_MS without a byte of the file. */
#define TRIES	   6
#define OPEN_TRIES 3

/* first pause before another try, doubled each time (back-off); longest pause */
#define PAUSE_MS     250
#define PAUSE_MAX_MS 10000

/* longest delay until a stopped call ends */
#define TICK_MS 100

#define IDLE_SESSIONS 4u

/* A libcurl multi handle with its transfers, reused by the next call. */
struct session {
	CURLM *multi;
	struct remote_transfer transfers[REMOTE_PARALLEL];
	struct session *next;
};

void remote_http_global_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

void remote_http_global_cleanup(void)
{
	curl_global_cleanup();
}

bool remote_http_is_stopped(const struct remote_http *http, const atomic_bool *stop)
{
	return (stop && atomic_load(stop)) || (http->interrupted && atomic_load(http->interrupted));
}

/* ## redirects */

/* Keep the URL to which the redirects of a good answer led. */
static void keep_direct(struct remote_transfer *transfer)
{
	struct remote_http *http = transfer->http;
	char *led_to = NULL, *copy;
	long redirects = 0;

	if (transfer->direct || http->secret)
		return;
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_COUNT, &redirects);
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &led_to);
	copy = redirects && led_to ? strdup(led_to) : NULL;
	if (!copy)
		return;
	pthread_mutex_lock(&http->lock);
	free(http->direct);
	http->direct = copy;
	pthread_mutex_unlock(&http->lock);
}

static void forget_direct(struct remote_http *http)
{
	pthread_mutex_lock(&http->lock);
	free(http->direct);
	http->direct = NULL;
	pthread_mutex_unlock(&http->lock);
}

/* Set the URL of the next try. */
static CURLcode set_url(struct remote_transfer *transfer)
{
	struct remote_http *http = transfer->http;
	const char *url;
	CURLcode code;

	pthread_mutex_lock(&http->lock);
	transfer->direct = http->direct && !transfer->direct_failed;
	url = transfer->direct ? http->direct : http->url;
	code = remote_transfer_aim(transfer, url, http->own ? hub_token(url) : NULL);
	pthread_mutex_unlock(&http->lock);
	return code;
}

/* ## sessions */

static void free_session(struct session *session)
{
	for (unsigned i = 0; i < REMOTE_PARALLEL; i++)
		curl_easy_cleanup(session->transfers[i].easy);
	curl_multi_cleanup(session->multi);
	free(session);
}

static struct session *new_session(void)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->multi = curl_multi_init();
	if (session->multi)
		return session;
	free(session);
	return NULL;
}

/* Take a session. Calls for many ranges wait for their turn. Returns 0, -EINTR or -ENOMEM. */
static int take_session(struct remote_http *http, bool many, const atomic_bool *stop,
			struct session **session)
{
	bool stopped = false;

	pthread_mutex_lock(&http->lock);
	while (many && http->batches >= REMOTE_BATCHES && !stopped) {
		cond_poll_wait(&http->freed, &http->lock);
		stopped = remote_http_is_stopped(http, stop);
	}
	http->batches += many && !stopped;
	*session = stopped ? NULL : http->idle;
	if (*session) {
		http->idle = (*session)->next;
		http->n_idle--;
	}
	pthread_mutex_unlock(&http->lock);
	if (stopped)
		return -EINTR;
	if (!*session)
		*session = new_session();
	return *session ? 0 : -ENOMEM;
}

/* Return a session, which may be NULL. */
static void put_session(struct remote_http *http, bool many, struct session *session)
{
	pthread_mutex_lock(&http->lock);
	http->batches -= many;
	pthread_cond_signal(&http->freed);
	if (session && http->n_idle < IDLE_SESSIONS) {
		session->next = http->idle;
		http->idle = session;
		http->n_idle++;
		session = NULL;
	}
	pthread_mutex_unlock(&http->lock);
	if (session)
		free_session(session);
}

/* ## a call */

struct call {
	struct remote_http *http;
	struct session *session;
	const struct remote_range *ranges;
	size_t n, begun, done;
	const atomic_bool *stop;
	unsigned tries;
	struct error *err;
};

/* Start the request. */
static CURLcode start(struct call *call, struct remote_transfer *transfer)
{
	const struct remote_range *range = transfer->range;
	CURLcode code = set_url(transfer);
	char text[48];

	transfer->before = transfer->at_minute = transfer->got;
	transfer->started = transfer->minute = clock_ms();
	snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, range->offset + transfer->got,
		 range->offset + range->length - 1);
	transfer->answer = (struct remote_answer){ 0 };
	transfer->begun = false;
	transfer->outcome = REMOTE_UNDER_WAY;
	transfer->curl_says[0] = '\0';
	if (code == CURLE_OK)
		code = curl_easy_setopt(transfer->easy, CURLOPT_RANGE, text);
	if (code == CURLE_OK &&
	    curl_multi_add_handle(call->session->multi, transfer->easy) != CURLM_OK)
		code = CURLE_OUT_OF_MEMORY;
	transfer->running = code == CURLE_OK;
	return code;
}

/* Assign the next range to the transfer. */
static CURLcode assign(struct call *call, struct remote_transfer *transfer)
{
	const CURLcode code =
		transfer->easy ? CURLE_OK : remote_transfer_init(transfer, call->http);

	if (code != CURLE_OK)
		return code;
	transfer->http = call->http;
	transfer->range = &call->ranges[call->begun++];
	transfer->got = 0;
	transfer->tries = 0;
	transfer->direct_failed = false;
	transfer->progress = clock_ms();
	return start(call, transfer);
}

static void stop_transfer(struct call *call, struct remote_transfer *transfer)
{
	if (transfer->running)
		curl_multi_remove_handle(call->session->multi, transfer->easy);
	transfer->running = false;
	transfer->range = NULL;
}

/* Set the time of the next try. False: no further try. */
static bool plan_again(const struct call *call, struct remote_transfer *transfer)
{
	const int64_t now = clock_ms(), asked = (int64_t)transfer->answer.retry_after * 1000;
	int64_t pause;

	if (transfer->got - transfer->before >= REMOTE_PROGRESS) {
		transfer->tries = 0;
		transfer->next = now;
		return true;
	}
	pause = (int64_t)PAUSE_MS << transfer->tries;
	if (++transfer->tries >= call->tries || now - transfer->progress >= REMOTE_PATIENCE_MS)
		return false;
	if (pause < asked)
		pause = asked;
	transfer->next = now + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
	return true;
}

/* Set err for a request that has finally failed. Returns -errno. */
static int fail(struct call *call, const struct remote_transfer *transfer)
{
	if (transfer->outcome == REMOTE_NO_MEMORY) {
		error_errno(call->err, ENOMEM);
		return -ENOMEM;
	}
	atomic_store(&call->http->gone, transfer->outcome == REMOTE_AGAIN);
	error_set(call->err, transfer->outcome == REMOTE_CHANGED ? ESTALE : EIO, ERROR_NO_OFFSET,
		  "%s", transfer->why);
	return -EIO;
}

/* Handle the end of a transfer. Returns 0 or -errno. */
static int settle(struct call *call, struct remote_transfer *transfer, CURLcode code)
{
	curl_multi_remove_handle(call->session->multi, transfer->easy);
	transfer->running = false;
	remote_transfer_end(transfer, code);
	if (transfer->outcome == REMOTE_DONE) {
		keep_direct(transfer);
		atomic_store(&call->http->gone, false);
		transfer->range = NULL;
		call->done++;
		return 0;
	}
	/* A redirect's target may be valid for a limited time. Ask the original URL again, without
	 * counting a try, but only once: another transfer may have stored the same target
	 * meanwhile. */
	if (transfer->direct && transfer->outcome != REMOTE_NO_MEMORY) {
		forget_direct(call->http);
		transfer->direct_failed = true;
		transfer->next = 0;
		return 0;
	}
	if (transfer->outcome == REMOTE_AGAIN && plan_again(call, transfer))
		return 0;
	return fail(call, transfer);
}

static int settle_ended(struct call *call)
{
	struct remote_transfer *transfer;
	CURLMsg *message;
	int left, rc = 0;

	while (rc == 0 && (message = curl_multi_info_read(call->session->multi, &left))) {
		if (message->msg != CURLMSG_DONE)
			continue;
		transfer = NULL;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
		rc = settle(call, transfer, message->data.result);
	}
	return rc;
}

/* Start all transfers that are due. Returns 0 or -errno. */
static int start_waiting(struct call *call)
{
	const int64_t now = clock_ms();
	CURLcode code = CURLE_OK;

	for (unsigned i = 0; code == CURLE_OK && i < REMOTE_PARALLEL; i++) {
		struct remote_transfer *transfer = &call->session->transfers[i];

		if (!transfer->range && call->begun < call->n)
			code = assign(call, transfer);
		else if (transfer->range && !transfer->running && transfer->next <= now)
			code = start(call, transfer);
	}
	if (code == CURLE_OUT_OF_MEMORY)
		return error_errno(call->err, ENOMEM);
	/* This curl lacks a required option. */
	return code == CURLE_OK ? 0
				: error_set(call->err, EIO, ERROR_NO_OFFSET, "curl: %s",
					    curl_easy_strerror(code));
}

/* Longest sleep if no bytes arrive, in milliseconds. */
static int idle_time(const struct call *call)
{
	const int64_t now = clock_ms();
	int64_t time = TICK_MS;

	for (unsigned i = 0; i < REMOTE_PARALLEL; i++) {
		const struct remote_transfer *transfer = &call->session->transfers[i];

		int64_t next = now + TICK_MS;

		if (!transfer->range && call->begun < call->n)
			next = now;
		else if (transfer->range && !transfer->running)
			next = transfer->next > now ? transfer->next : now;
		if (next - now < time)
			time = next - now;
	}
	return (int)time;
}

static int run(struct call *call)
{
	int rc = 0, running;

	while (rc == 0 && call->done < call->n) {
		if (remote_http_is_stopped(call->http, call->stop))
			return -EINTR;
		rc = start_waiting(call);
		if (rc == 0 && curl_multi_perform(call->session->multi, &running) != CURLM_OK)
			rc = error_errno(call->err, ENOMEM);
		if (rc == 0)
			rc = settle_ended(call);
		if (rc == 0 && call->done < call->n)
			curl_multi_poll(call->session->multi, NULL, 0, idle_time(call), NULL);
	}
	return rc;
}

int remote_http_get(struct remote_http *http, const struct remote_range *ranges, size_t n,
		    const atomic_bool *stop, struct error *err)
{
	struct call call = { .http = http,
			     .ranges = ranges,
			     .n = n,
			     .stop = stop,
			     .tries = !http->is_known		 ? OPEN_TRIES
				      : atomic_load(&http->gone) ? 1
								 : TRIES,
			     .err = err };
	const bool many = n > 1;
	int rc = take_session(http, many, stop, &call.session);

	if (rc == -EINTR)
		return rc;
	if (rc == 0)
		rc = run(&call);
	else
		error_errno(err, ENOMEM);
	for (unsigned i = 0; call.session && i < REMOTE_PARALLEL; i++)
		stop_transfer(&call, &call.session->transfers[i]);
	put_session(http, many, call.session);
	return rc;
}

/* ## the file */

static struct remote_http *new_http(const char *url, const atomic_bool *interrupted)
{
	struct remote_http *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	pthread_mutex_init(&http->lock, NULL);
	cond_poll_init(&http->freed);
	http->interrupted = interrupted;
	http->secret = url_has_credentials(url);
	http->own = credentials_are_own();
	http->safe = strncasecmp(url, "https:", 6) == 0;
	http->url = strdup(url);
	if (http->url)
		return http;
	remote_http_close(http);
	return NULL;
}

/* Send the first request, whose answer identifies the file: remote_transfer.c records it. */
static int learn(struct remote_http *http, uint8_t *head, size_t *n, struct error *err)
{
	const struct remote_range range = { 0, *n, head };
	const int rc = remote_http_get(http, &range, 1, NULL, err);

	if (rc == -EINTR)
		return error_set(err, EINTR, ERROR_NO_OFFSET, "interrupted");
	if (rc < 0)
		return rc;
	if (*n > http->identity.total)
		*n = (size_t)http->identity.total;
	return 0;
}

struct remote_http *remote_http_open(const char *url, const atomic_bool *interrupted, uint8_t *head,
				     size_t *n, struct error *err)
{
	struct remote_http *http;

	if (syscall_filter_ends_network()) {
		error_set(err, EACCES, ERROR_NO_OFFSET,
			  "this mount has no network access, because nothing in it came from a URL "
			  "when it began");
		return NULL;
	}
	http = new_http(url, interrupted);
	if (!http) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	if (learn(http, head, n, err) == 0)
		return http;
	remote_http_close(http);
	return NULL;
}

void remote_http_close(struct remote_http *http)
{
	if (!http)
		return;
	while (http->idle) {
		struct session *session = http->idle;

		http->idle = session->next;
		free_session(session);
	}
	pthread_cond_destroy(&http->freed);
	pthread_mutex_destroy(&http->lock);
	free(http->direct);
	free(http->url);
	free(http);
}

const struct remote_answer *remote_http_identity(const struct remote_http *http)
{
	return &http->identity;
}
