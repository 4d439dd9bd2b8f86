/* SPDX-License-Identifier: MIT */
/* remote_transfer.c - see remote_transfer.h. */
#include "fs/storage/remote_transfer.h"
#include "fs/storage/remote_http.h"
#include "fs/util/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* period over which REMOTE_PROGRESS is required */
#define MINUTE_MS 60000

#define CONNECT_S 15L /* longest time for a connection to be made */
#define SILENCE_S 20L /* after so long without a byte the answer counts as broken off */

#define REDIRECTS_MAX  8L
#define HEADER_MAX     ((size_t)1 << 17)
#define RECEIVE_BUFFER 131072L

static const char changed[] = "the file on the server was changed since it was opened";

__attribute__((format(printf, 3, 4))) static bool conclude(struct remote_transfer *transfer,
							   enum remote_outcome outcome,
							   const char *format, ...)
{
	va_list values;

	transfer->outcome = outcome;
	va_start(values, format);
	vsnprintf(transfer->why, sizeof(transfer->why), format, values);
	va_end(values);
	return false;
}

/* Is it the requested part? Only a file's first request may exceed the end of the file. */
static bool is_asked_for(const struct remote_transfer *transfer)
{
	const struct remote_answer *answer = &transfer->answer;
	const struct remote_range *range = transfer->range;
	const uint64_t last = range->offset + range->length - 1;

	return answer->first == range->offset + transfer->got &&
	       answer->last == (last < answer->total ? last : answer->total - 1);
}

/* Have all bytes arrived? begin() has checked that the answer has all requested bytes. */
static bool is_whole(const struct remote_transfer *transfer)
{
	return transfer->begun &&
	       transfer->got == transfer->answer.last - transfer->range->offset + 1;
}

/* Check the answer's header when its first byte arrives. False: the bytes are invalid. */
static bool begin(struct remote_transfer *transfer)
{
	struct remote_http *http = transfer->http;
	const struct remote_answer *answer = &transfer->answer;

	if (answer->status != 206)
		return false; /* remote_transfer_end() sets the reason */
	if (answer->encoded)
		return conclude(transfer, REMOTE_FAILED,
				"the server sends the file compressed (Content-Encoding)");
	if (!answer->has_range)
		return conclude(transfer, REMOTE_FAILED,
				"the server's answer has no valid Content-Range");
	if (http->is_known && !remote_answer_is_of(answer, &http->identity))
		return conclude(transfer, REMOTE_CHANGED, changed);
	if (!is_asked_for(transfer))
		return conclude(transfer, REMOTE_FAILED,
				"the server sends bytes %" PRIu64 "-%" PRIu64 " instead of %" PRIu64
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
	struct remote_transfer *transfer = context;

	(void)one;
	/* Ignore trailers, which come after the bytes. */
	if (!transfer->begun)
		remote_answer_line(&transfer->answer, line, n);
	if (transfer->answer.bytes <= HEADER_MAX)
		return n;
	conclude(transfer, REMOTE_FAILED, "the header of the server's answer is too long");
	return 0;
}

static size_t on_bytes(char *bytes, size_t one, size_t n, void *context)
{
	struct remote_transfer *transfer = context;

	(void)one;
	if (!transfer->begun && !begin(transfer))
		return 0;
	if (n > transfer->answer.last - transfer->range->offset - transfer->got + 1) {
		conclude(transfer, REMOTE_FAILED, "the server sends more bytes than requested");
		return 0;
	}
	memcpy(transfer->range->bytes + transfer->got, bytes, n);
	transfer->got += n;
	transfer->progress = clock_ms();
	return n;
}

/* Should the request end, because it brings too few bytes of the file? curl's own limit does not
 * notice a server that sends other bytes, such as the page of a redirect. */
static bool is_in_vain(struct remote_transfer *transfer)
{
	const int64_t now = clock_ms();
	const int64_t since =
		transfer->progress > transfer->started ? transfer->progress : transfer->started;

	/* The bytes are complete, so remote_transfer_end() accepts them. */
	if (is_whole(transfer))
		return now - since >= REMOTE_PATIENCE_MS;
	if (now - since >= REMOTE_PATIENCE_MS) {
		conclude(transfer, REMOTE_AGAIN, "the server has sent no byte of the file for %d s",
			 REMOTE_PATIENCE_MS / 1000);
		return true;
	}
	if (now - transfer->minute < MINUTE_MS)
		return false;
	if (transfer->got - transfer->at_minute < REMOTE_PROGRESS) {
		conclude(transfer, REMOTE_AGAIN, "the server sends less than %zu bytes a minute",
			 REMOTE_PROGRESS);
		return true;
	}
	transfer->minute = now;
	transfer->at_minute = transfer->got;
	return false;
}

/* curl calls this about once a second, and whenever bytes arrive. */
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

/* Set the outcome for a status other than 206. */
static void judge_status(struct remote_transfer *transfer)
{
	const unsigned status = transfer->answer.status;

	if (status == 200)
		conclude(transfer, REMOTE_FAILED,
			 "the server does not answer requests for parts of a file (ranges), which "
			 "organfs needs");
	else if (status == 416 && transfer->http->is_known)
		conclude(transfer, REMOTE_CHANGED, changed);
	else
		conclude(transfer,
			 status == 408 || status == 429 || status >= 500 ? REMOTE_AGAIN
									 : REMOTE_FAILED,
			 "the server answers %u", status);
}

void remote_transfer_end(struct remote_transfer *transfer, CURLcode code)
{
	if (transfer->outcome != REMOTE_UNDER_WAY)
		return;
	if (code == CURLE_OUT_OF_MEMORY) {
		conclude(transfer, REMOTE_NO_MEMORY, "out of memory");
		return;
	}
	/* All bytes have arrived, so it does not matter how the connection ended. */
	if (is_whole(transfer)) {
		transfer->outcome = REMOTE_DONE;
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
		conclude(transfer, REMOTE_AGAIN, "the server broke off its answer");
	else
		conclude(transfer, is_of_server(code) ? REMOTE_AGAIN : REMOTE_FAILED, "%s",
			 transfer->curl_says[0] ? transfer->curl_says : curl_easy_strerror(code));
}

/* Ignore that curl lacks an option which is not required. */
static CURLcode unless_lacking(CURLcode code)
{
	return code == CURLE_NOT_BUILT_IN || code == CURLE_UNKNOWN_OPTION ? CURLE_OK : code;
}

#define SET(option, value) code = code ? code : curl_easy_setopt(easy, option, value)
#define TRY(option, value) \
	code = code ? code : unless_lacking(curl_easy_setopt(easy, option, value))

/* Set the options common to all requests. */
static CURLcode set_options(CURL *easy, const struct remote_http *http,
			    struct remote_transfer *transfer)
{
	/* The curl command evaluates this variable, libcurl does not. */
	const char *certificates = secure_getenv("SSL_CERT_FILE");
	CURLcode code = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, http->safe ? "https" : "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	SET(CURLOPT_REDIR_PROTOCOLS,
	    (long)(http->safe ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Let calls end even if a name server does not answer. */
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
	return code;
}

CURLcode remote_transfer_aim(struct remote_transfer *transfer, const char *url, const char *token)
{
	CURL *easy = transfer->easy;
	CURLcode code = CURLE_OK;

	SET(CURLOPT_URL, url);
	SET(CURLOPT_XOAUTH2_BEARER, token);
	SET(CURLOPT_HTTPAUTH, (long)(token ? CURLAUTH_BEARER : CURLAUTH_BASIC));
	/* Where netrc has a host that a redirect leads to, older curls give that the token too. */
	if (token)
		TRY(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	return code;
}

#undef TRY
#undef SET

CURLcode remote_transfer_init(struct remote_transfer *transfer, const struct remote_http *http)
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
