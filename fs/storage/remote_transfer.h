/* SPDX-License-Identifier: MIT */
/* remote_transfer.h - one HTTP request for one range of a file: curl's options for it, the bytes of
 * the answer as they come, and the verdict at its end. remote_http.c decides when a request is made
 * and how often. */
#ifndef FS_STORAGE_REMOTE_TRANSFER_H
#define FS_STORAGE_REMOTE_TRANSFER_H

#include "fs/storage/remote_answer.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote_range;

/* A try that brings as many bytes does not count, and the next one is made at once. One that brings
 * fewer in a minute is ended. */
#define REMOTE_PROGRESS ((size_t)4096)

/* A try without a byte of the file is ended after so long. */
#define REMOTE_PATIENCE_MS 30000

/* The state of a request. */
enum remote_outcome {
	REMOTE_UNDER_WAY,
	REMOTE_AGAIN,	/* the next try may go better */
	REMOTE_FAILED,	/* none will */
	REMOTE_CHANGED, /* it is another file */
	REMOTE_NO_MEMORY,
	REMOTE_DONE,
};

struct remote_transfer {
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
	enum remote_outcome outcome;
	unsigned tries;
	int64_t progress, next; /* milliseconds: when a byte came; when to try again */
	int64_t started;	/* when the try was */
	int64_t minute;		/* when the minute began that is under way */
	size_t at_minute;	/* bytes that were there then */
	char why[200];
	char curl_says[CURL_ERROR_SIZE];
};

/* The file on the server. */
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

/* Make the transfer's curl handle, with all options. An error leaves it without one. */
CURLcode remote_transfer_init(struct remote_transfer *transfer, const struct remote_http *http);

/* Set the outcome of a request that curl has ended with that code. */
void remote_transfer_end(struct remote_transfer *transfer, CURLcode code);

#endif
