/* SPDX-License-Identifier: MIT */
/* remote_http.c - see remote_http.h. A call drives its requests itself, on the thread of the
 * caller, with a multi handle of curl that keeps its connections for the next call. */
#include "fs/storage/remote_http.h"
#include "fs/storage/remote_answer.h"
#include "fs/util/cond_poll.h"
#include "fs/util/syscall_filter.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A request is given up after so many tries, and soon after so long without a byte of the file. */
#define TRIES	    6
#define OPEN_TRIES  3
#define PATIENCE_MS 30000

/* A try that brings as much is none of those that count, and the next one is made at once. One that
 * brings less in a minute is ended. */
#define PROGRESS  ((size_t)4096)
#define MINUTE_MS 60000

/* The first pause before another try, which doubles, and the longest. */
#define PAUSE_MS     250
#define PAUSE_MAX_MS 10000

#define CONNECT_S 15L /* a connection has to be made in that time */
#define SILENCE_S 20L /* after so long without a byte an answer counts as broken off */

/* How soon a call that is to end does. */
#define TICK_MS 100

#define REDIRECTS_MAX  8L
#define HEADER_MAX     ((size_t)1 << 17)
#define RECEIVE_BUFFER 131072L
#define IDLE_SESSIONS  4u

/* What has become of a request. */
enum outcome {
	UNDER_WAY,
	AGAIN,	 /* the next try may go better */
	FAILED,	 /* none will */
	CHANGED, /* it is another file */
	NO_MEMORY,
	DONE,
};

struct transfer {
	struct remote_http *http;
	CURL *easy;
	const struct remote_range *range; /* NULL: it has none to do */
	size_t got;			  /* bytes of it */
	size_t before;			  /* of these, how many earlier tries brought */
	bool running;			  /* it is curl's */
	bool begun;			  /* the answer's header is good, and its bytes count */
	bool direct;			  /* it asks where the last redirects led */
	bool astray;			  /* that has failed: it asks there no more */
	struct remote_answer answer;
	enum outcome outcome;
	unsigned tries;
	int64_t progress, next; /* milliseconds: when a byte came; when to try again */
	int64_t started;	/* when the try was */
	int64_t minute;		/* when the minute began that is under way */
	size_t at_minute;	/* bytes that were there then */
	char why[200];
	char curl_says[CURL_ERROR_SIZE];
};

/* What a call uses, and what is kept for the next one. */
struct session {
	CURLM *multi;
	struct transfer transfers[REMOTE_PARALLEL];
	struct session *next;
};

struct remote_http {
	char *url;
	bool secret;   /* the URL has credentials: what it led to has not, and is not kept */
	bool safe;     /* it is https */
	bool is_known; /* the identity is that of the file */
	struct remote_answer identity;
	const atomic_bool *interrupted;
	atomic_bool gone;     /* the last request was given up */
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t freed;
	char *direct; /* where redirects led; NULL: there were none */
	unsigned batches, n_idle;
	struct session *idle;
};

void remote_http_global_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

void remote_http_global_cleanup(void)
{
	curl_global_cleanup();
}

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool remote_http_is_stopped(const struct remote_http *http, const atomic_bool *stop)
{
	return (stop && atomic_load(stop)) || (http->interrupted && atomic_load(http->interrupted));
}

/* ## one answer */

__attribute__((format(printf, 3, 4))) static bool conclude(struct transfer *transfer,
							   enum outcome outcome, const char *format,
							   ...)
{
	va_list values;

	transfer->outcome = outcome;
	va_start(values, format);
	vsnprintf(transfer->why, sizeof(transfer->why), format, values);
	va_end(values);
	return false;
}

/* Is the part that is about to come the one that was asked for? Only the first request of a file
 * may ask for more than there is. */
static bool is_asked_for(const struct transfer *transfer)
{
	const struct remote_answer *answer = &transfer->answer;
	const struct remote_range *range = transfer->range;
	const uint64_t last = range->offset + range->length - 1;

	return answer->first == range->offset + transfer->got &&
	       answer->last == (last < answer->total ? last : answer->total - 1);
}

/* Have all bytes come? begin() knows that those of the answer are all that were asked for. */
static bool is_whole(const struct transfer *transfer)
{
	return transfer->begun &&
	       transfer->got == transfer->answer.last - transfer->range->offset + 1;
}

/* Once, with the first byte of what comes after a header: do the bytes count? */
static bool begin(struct transfer *transfer)
{
	struct remote_http *http = transfer->http;
	const struct remote_answer *answer = &transfer->answer;

	if (answer->status != 206)
		return false; /* judge() says why */
	if (answer->encoded)
		return conclude(transfer, FAILED, "the server sends the file in another coding");
	if (!answer->has_range)
		return conclude(transfer, FAILED,
				"the server does not say which bytes of how many it sends");
	if (http->is_known && !remote_answer_is_of(answer, &http->identity))
		return conclude(transfer, CHANGED,
				"the file on the server was changed since it was opened");
	if (!is_asked_for(transfer))
		return conclude(transfer, FAILED,
				"the server sends bytes %" PRIu64 "-%" PRIu64 ", asked for %" PRIu64
				"-%" PRIu64,
				answer->first, answer->last,
				transfer->range->offset + transfer->got,
				transfer->range->offset + transfer->range->length - 1);
	/* No other thread knows the file yet. */
	if (!http->is_known) {
		http->identity = *answer;
		http->is_known = true;
	}
	transfer->begun = true;
	return true;
}

static size_t on_header(char *line, size_t one, size_t n, void *context)
{
	struct transfer *transfer = context;

	(void)one;
	/* What comes after the bytes says nothing of them. */
	if (!transfer->begun)
		remote_answer_line(&transfer->answer, line, n);
	if (transfer->answer.bytes <= HEADER_MAX)
		return n;
	conclude(transfer, FAILED, "the server's answer has a header without end");
	return 0;
}

static size_t on_bytes(char *bytes, size_t one, size_t n, void *context)
{
	struct transfer *transfer = context;

	(void)one;
	if (!transfer->begun && !begin(transfer))
		return 0;
	if (n > transfer->answer.last - transfer->range->offset - transfer->got + 1) {
		conclude(transfer, FAILED, "the server sends more than was asked for");
		return 0;
	}
	memcpy(transfer->range->bytes + transfer->got, bytes, n);
	transfer->got += n;
	transfer->progress = milliseconds();
	return n;
}

/* What comes may be no part of the file, as the page that a redirect has, or come too slowly: then
 * no silence ends the request. True: it is to be ended. */
static bool is_in_vain(struct transfer *transfer)
{
	const int64_t now = milliseconds();
	const int64_t since =
		transfer->progress > transfer->started ? transfer->progress : transfer->started;

	/* It is only the end of the answer that does not come: see judge(). */
	if (is_whole(transfer))
		return now - since >= PATIENCE_MS;
	if (now - since >= PATIENCE_MS) {
		conclude(transfer, AGAIN, "the server has sent nothing of the file for %d s",
			 PATIENCE_MS / 1000);
		return true;
	}
	if (now - transfer->minute < MINUTE_MS)
		return false;
	if (transfer->got - transfer->at_minute < PROGRESS) {
		conclude(transfer, AGAIN, "the server sends less than %zu bytes a minute",
			 PROGRESS);
		return true;
	}
	transfer->minute = now;
	transfer->at_minute = transfer->got;
	return false;
}

/* curl calls this all the time. */
static int on_tick(void *context, curl_off_t to_get, curl_off_t got, curl_off_t to_send,
		   curl_off_t sent)
{
	(void)to_get, (void)got, (void)to_send, (void)sent;
	return is_in_vain(context);
}

static bool is_of_server(CURLcode code)
{
	switch (code) {
	case CURLE_OK:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return true;
	default:
		return false;
	}
}

/* An answer that is no part of the file. */
static void judge_status(struct transfer *transfer)
{
	const unsigned status = transfer->answer.status;

	if (status == 200)
		conclude(transfer, FAILED,
			 "the server does not answer requests for parts of a file (ranges), which "
			 "organfs needs");
	else if (status == 416 && transfer->http->is_known)
		conclude(transfer, CHANGED,
			 "the file on the server was changed since it was opened");
	else
		conclude(transfer, status == 408 || status == 429 || status >= 500 ? AGAIN : FAILED,
			 "the server answers %u", status);
}

/* curl has ended the request. */
static void judge(struct transfer *transfer, CURLcode code)
{
	if (transfer->outcome != UNDER_WAY)
		return;
	if (code == CURLE_OUT_OF_MEMORY) {
		conclude(transfer, NO_MEMORY, "out of memory");
		return;
	}
	/* How the connection ended behind the last byte says nothing of them. */
	if (is_whole(transfer)) {
		transfer->outcome = DONE;
		return;
	}
	if (!transfer->begun && transfer->answer.status != 206 && transfer->answer.status >= 200 &&
	    (code == CURLE_OK || code == CURLE_WRITE_ERROR)) {
		judge_status(transfer);
		return;
	}
	if (code == CURLE_OK && !transfer->begun && !begin(transfer))
		return;
	if (code == CURLE_OK)
		conclude(transfer, AGAIN, "the server broke off its answer");
	else
		conclude(transfer, is_of_server(code) ? AGAIN : FAILED, "%s",
			 transfer->curl_says[0] ? transfer->curl_says : curl_easy_strerror(code));
}

/* ## where to ask */

/* Keep where the redirects of a good answer led. */
static void keep_direct(struct transfer *transfer)
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

/* Give curl the address of the next try. */
static CURLcode set_url(struct transfer *transfer)
{
	struct remote_http *http = transfer->http;
	CURLcode code;

	pthread_mutex_lock(&http->lock);
	transfer->direct = http->direct && !transfer->astray;
	code = curl_easy_setopt(transfer->easy, CURLOPT_URL,
				transfer->direct ? http->direct : http->url);
	pthread_mutex_unlock(&http->lock);
	return code;
}

/* ## sessions */

/* Of an option without which requests are as good. */
static CURLcode unless_lacking(CURLcode code)
{
	return code == CURLE_NOT_BUILT_IN || code == CURLE_UNKNOWN_OPTION ? CURLE_OK : code;
}

/* What all requests have in common. */
static CURLcode set_options(CURL *easy, const struct remote_http *http, struct transfer *transfer)
{
	/* The curl command looks there, its library does not. */
	const char *certificates = secure_getenv("SSL_CERT_FILE");
	CURLcode code = CURLE_OK;

#define SET(option, value) code = code ? code : curl_easy_setopt(easy, option, value)
#define TRY(option, value) \
	code = code ? code : unless_lacking(curl_easy_setopt(easy, option, value))
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, http->safe ? "https" : "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	SET(CURLOPT_REDIR_PROTOCOLS,
	    (long)(http->safe ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	/* A name server that does not answer keeps no call from ending. */
	TRY(CURLOPT_QUICK_EXIT, 1L);
#endif
	if (certificates && certificates[0])
		SET(CURLOPT_CAINFO, certificates);
	SET(CURLOPT_FOLLOWLOCATION, 1L);
	SET(CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
	SET(CURLOPT_LOW_SPEED_TIME, SILENCE_S);
	TRY(CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	SET(CURLOPT_USERAGENT, "organfs/" ORGANFS_VERSION);
	SET(CURLOPT_BUFFERSIZE, RECEIVE_BUFFER);
	TRY(CURLOPT_PIPEWAIT, 1L);
	SET(CURLOPT_ERRORBUFFER, transfer->curl_says);
	SET(CURLOPT_PRIVATE, transfer);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, transfer);
	SET(CURLOPT_WRITEFUNCTION, on_bytes);
	SET(CURLOPT_WRITEDATA, transfer);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, on_tick);
	SET(CURLOPT_XFERINFODATA, transfer);
#undef TRY
#undef SET
	return code;
}

/* The transfer's handle, with all options, or none. */
static CURLcode make_easy(struct transfer *transfer, const struct remote_http *http)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;

	transfer->easy = curl_easy_init();
	if (transfer->easy)
		code = set_options(transfer->easy, http, transfer);
	if (code == CURLE_OK)
		return CURLE_OK;
	curl_easy_cleanup(transfer->easy);
	transfer->easy = NULL;
	return code;
}

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

/* One for a call. Calls for many ranges wait for their turn. Returns 0, -EINTR or -ENOMEM. */
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

/* The session may be NULL. */
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

/* Hand the request to curl. */
static CURLcode start(struct call *call, struct transfer *transfer)
{
	const struct remote_range *range = transfer->range;
	CURLcode code = set_url(transfer);
	char text[48];

	transfer->before = transfer->at_minute = transfer->got;
	transfer->started = transfer->minute = milliseconds();
	snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, range->offset + transfer->got,
		 range->offset + range->length - 1);
	transfer->answer = (struct remote_answer){ 0 };
	transfer->begun = false;
	transfer->outcome = UNDER_WAY;
	transfer->curl_says[0] = '\0';
	if (code == CURLE_OK)
		code = curl_easy_setopt(transfer->easy, CURLOPT_RANGE, text);
	if (code == CURLE_OK &&
	    curl_multi_add_handle(call->session->multi, transfer->easy) != CURLM_OK)
		code = CURLE_OUT_OF_MEMORY;
	transfer->running = code == CURLE_OK;
	return code;
}

/* The next range is this one's. */
static CURLcode assign(struct call *call, struct transfer *transfer)
{
	const CURLcode code = transfer->easy ? CURLE_OK : make_easy(transfer, call->http);

	if (code != CURLE_OK)
		return code;
	transfer->http = call->http;
	transfer->range = &call->ranges[call->begun++];
	transfer->got = 0;
	transfer->tries = 0;
	transfer->astray = false;
	transfer->progress = milliseconds();
	return start(call, transfer);
}

static void stop_transfer(struct call *call, struct transfer *transfer)
{
	if (transfer->running)
		curl_multi_remove_handle(call->session->multi, transfer->easy);
	transfer->running = false;
	transfer->range = NULL;
}

/* When the next try is to be made. False: there is none. */
static bool plan_again(const struct call *call, struct transfer *transfer)
{
	const int64_t now = milliseconds(), asked = (int64_t)transfer->answer.retry_after * 1000;
	int64_t pause;

	if (transfer->got - transfer->before >= PROGRESS) {
		transfer->tries = 0;
		transfer->next = now;
		return true;
	}
	pause = (int64_t)PAUSE_MS << transfer->tries;
	if (++transfer->tries >= call->tries || now - transfer->progress >= PATIENCE_MS)
		return false;
	if (pause < asked)
		pause = asked;
	transfer->next = now + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
	return true;
}

/* Fill err with what has become of a request that has failed for good. Returns -errno. */
static int fail(struct call *call, const struct transfer *transfer)
{
	if (transfer->outcome == NO_MEMORY) {
		error_set(call->err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return -ENOMEM;
	}
	atomic_store(&call->http->gone, transfer->outcome == AGAIN);
	error_set(call->err, transfer->outcome == CHANGED ? ESTALE : EIO, ERROR_NO_OFFSET, "%s",
		  transfer->why);
	return -EIO;
}

/* curl has ended one. Returns 0 or -errno. */
static int settle(struct call *call, struct transfer *transfer, CURLcode code)
{
	curl_multi_remove_handle(call->session->multi, transfer->easy);
	transfer->running = false;
	judge(transfer, code);
	if (transfer->outcome == DONE) {
		keep_direct(transfer);
		atomic_store(&call->http->gone, false);
		transfer->range = NULL;
		call->done++;
		return 0;
	}
	/* What a redirect once led to may hold for a while only. It is no try that counts, and so
	 * made once: another transfer may have been led there again meanwhile. */
	if (transfer->direct && transfer->outcome != NO_MEMORY) {
		forget_direct(call->http);
		transfer->astray = true;
		transfer->next = 0;
		return 0;
	}
	if (transfer->outcome == AGAIN && plan_again(call, transfer))
		return 0;
	return fail(call, transfer);
}

static int settle_ended(struct call *call)
{
	struct transfer *transfer;
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

/* Begin what can be begun. Returns 0 or -errno. */
static int start_waiting(struct call *call)
{
	const int64_t now = milliseconds();
	CURLcode code = CURLE_OK;

	for (unsigned i = 0; code == CURLE_OK && i < REMOTE_PARALLEL; i++) {
		struct transfer *transfer = &call->session->transfers[i];

		if (!transfer->range && call->begun < call->n)
			code = assign(call, transfer);
		else if (transfer->range && !transfer->running && transfer->next <= now)
			code = start(call, transfer);
	}
	if (code == CURLE_OUT_OF_MEMORY)
		return error_set(call->err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	/* A curl that lacks what is needed. */
	return code == CURLE_OK ? 0
				: error_set(call->err, EIO, ERROR_NO_OFFSET, "curl: %s",
					    curl_easy_strerror(code));
}

/* How long there may be nothing to do unless bytes come, in milliseconds. */
static int idle_time(const struct call *call)
{
	const int64_t now = milliseconds();
	int64_t time = TICK_MS;

	for (unsigned i = 0; i < REMOTE_PARALLEL; i++) {
		const struct transfer *transfer = &call->session->transfers[i];

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
			rc = error_set(call->err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
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
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
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
	http->safe = strncasecmp(url, "https:", 6) == 0;
	http->url = strdup(url);
	if (http->url)
		return http;
	remote_http_close(http);
	return NULL;
}

/* The answer to the first request says which file it is: begin() notes that. */
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
			  "a URL is opened only by a mount that had something from one when it "
			  "began");
		return NULL;
	}
	http = new_http(url, interrupted);
	if (!http) {
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
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
