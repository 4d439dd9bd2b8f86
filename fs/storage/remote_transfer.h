/* SPDX-License-Identifier: MIT */
/* remote_transfer.h - one HTTP request for one range of a file: curl's options, the bytes of the
 * answer as they arrive, and the outcome. remote_http.c decides when and how often a request is
 * made. */
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

/* A try that brings at least so many bytes is not counted, and the next one follows at once. A try
 * that brings fewer per minute is ended. */
#define REMOTE_PROGRESS ((size_t)4096)

/* Time without a byte of the file after which a try ends. The request ends with it, unless the try
 * brought REMOTE_PROGRESS bytes. */
#define REMOTE_PATIENCE_MS 30000

/* The state of a request. */
enum remote_outcome {
	REMOTE_UNDER_WAY,
	REMOTE_AGAIN,	/* may succeed if tried again */
	REMOTE_FAILED,	/* will not succeed */
	REMOTE_CHANGED, /* the server has another file now */
	REMOTE_NO_MEMORY,
	REMOTE_DONE,
};

struct remote_transfer {
	struct remote_http *http;
	CURL *easy;
	const struct remote_range *range; /* NULL: unused */
	size_t got;			  /* bytes of the range so far */
	size_t before;			  /* bytes of these from earlier tries */
	bool running;			  /* curl processes the request */
	bool begun;			  /* the answer's header is valid, so its bytes count */
	bool direct;			  /* uses http->direct */
	bool direct_failed;		  /* http->direct has failed: do not use it again */
	struct remote_answer answer;
	enum remote_outcome outcome;
	unsigned tries;
	int64_t progress, next; /* times in ms: of the last byte; of the next try */
	int64_t started;	/* time when the try began */
	int64_t minute;		/* time when the current minute began */
	size_t at_minute;	/* value of got at that time */
	char why[200];
	char curl_says[CURL_ERROR_SIZE];
};

/* A file on a server. */
struct remote_http {
	char *url;
	bool secret;   /* the URL has credentials: redirect targets get none and are not kept */
	bool safe;     /* it is https */
	bool own;      /* it is opened for the user of the process, who may have a token */
	bool is_known; /* identity is set */
	struct remote_answer identity;
	const atomic_bool *interrupted;
	atomic_bool gone;     /* the last request was given up after its tries */
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t freed;
	char *direct; /* target of redirects; NULL: none */
	unsigned batches, n_idle;
	struct session *idle;
};

/* Create the transfer's curl handle with all options. After an error there is no handle. */
CURLcode remote_transfer_init(struct remote_transfer *transfer, const struct remote_http *http);

/* Set the URL of the next try, and the token that its host gets and no other that a redirect leads
 * to; NULL: none. */
CURLcode remote_transfer_aim(struct remote_transfer *transfer, const char *url, const char *token);

/* Set the outcome after curl has ended the request with that code. */
void remote_transfer_end(struct remote_transfer *transfer, CURLcode code);

#endif
