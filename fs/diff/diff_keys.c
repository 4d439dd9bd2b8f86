/* SPDX-License-Identifier: MIT */
/* diff_keys.c - see diff_keys.h. */
#include "fs/diff/diff_keys.h"
#include "fs/base/basis.h"
#include "fs/diff/diff_side.h"
#include "fs/metadata/metadata.h"
#include "fs/storage/view.h"
#include "fs/util/text_escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of values compared at a time. */
#define CHUNK ((size_t)1 << 16)

/* Bytes shown of a value. */
#define SHOWN 60

/* Bytes shown of a key; keys in use are shorter. */
#define KEY_SHOWN 200

static int compare_views(struct view *a, struct view *b, bool *same)
{
	char *x = malloc(CHUNK), *y = malloc(CHUNK);
	const uint64_t size = view_size(a);
	int rc = x && y ? 0 : -ENOMEM;

	*same = size == view_size(b);
	for (uint64_t at = 0; rc == 0 && *same && at < size; at += CHUNK) {
		const ssize_t n = view_read(a, x, CHUNK, at), m = view_read(b, y, CHUNK, at);

		rc = n < 0 ? (int)n : m < 0 ? (int)m : 0;
		*same = rc == 0 && n == m && memcmp(x, y, (size_t)n) == 0;
	}
	free(x);
	free(y);
	return rc;
}

/* Compare as text: files of version 1 store arrays of strings in another way. */
static int compare_texts(struct metadata_entry *a, struct metadata_entry *b, bool *same)
{
	int rc = 0;
	struct view *x = metadata_entry_view(a, &rc);
	struct view *y = x ? metadata_entry_view(b, &rc) : NULL;

	if (y)
		rc = compare_views(x, y, same);
	view_unref(x);
	view_unref(y);
	return rc;
}

static int compare_bytes(const struct value *a, const struct value *b, bool *same)
{
	char *x = malloc(CHUNK), *y = malloc(CHUNK);
	int rc = x && y ? 0 : -ENOMEM;

	*same = a->length == b->length;
	for (uint64_t at = 0; rc == 0 && *same && at < a->length; at += CHUNK) {
		const size_t n = a->length - at < CHUNK ? (size_t)(a->length - at) : CHUNK;

		rc = a->source->read_at(a->source->context, x, n, a->offset + at);
		if (rc == 0)
			rc = b->source->read_at(b->source->context, y, n, b->offset + at);
		*same = rc == 0 && memcmp(x, y, n) == 0;
	}
	free(x);
	free(y);
	return rc;
}

static int compare(struct metadata_entry *a, struct metadata_entry *b, bool *same)
{
	const struct value *x = metadata_entry_value(a), *y = metadata_entry_value(b);
	const bool array = x->type.type == KV_ARRAY;

	*same = a == b;
	if (*same || !value_type_same(x->type, y->type) || (array && x->count != y->count))
		return 0;
	if (array && x->type.element == KV_STRING && x->width != y->width)
		return compare_texts(a, b, same);
	return compare_bytes(x, y, same);
}

int diff_keys_find(struct diff_keys *keys, const struct diff_side *here,
		   const struct diff_side *there)
{
	int rc = 0;

	*keys = (struct diff_keys){ .here = here, .there = there };
	keys->pairs = calloc((size_t)here->n_keys + there->n_keys + 1, sizeof(*keys->pairs));
	if (!keys->pairs)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < here->n_keys; i++) {
		const struct diff_key *a = &here->keys[i];
		const struct diff_key *b = diff_side_key(there, a->key, a->length);
		bool same = false;

		if (b)
			rc = compare(a->value, b->value, &same);
		if (rc == 0 && !same)
			keys->pairs[keys->n++] = (struct diff_key_pair){ a, b };
	}
	for (uint32_t i = 0; rc == 0 && i < there->n_keys; i++) {
		const struct diff_key *b = &there->keys[i];

		if (!diff_side_key(here, b->key, b->length))
			keys->pairs[keys->n++] = (struct diff_key_pair){ NULL, b };
	}
	return rc;
}

void diff_keys_release(struct diff_keys *keys)
{
	free(keys->pairs);
	*keys = (struct diff_keys){ .n = 0 };
}

/* Print n bytes, cut to most bytes and "...". */
static void print_cut(const char *text, size_t n, size_t most, FILE *out)
{
	text_escape_print(text, n < most ? n : most, "", out);
	if (n > most)
		fputs("...", out);
}

static int print_value(const struct diff_key *key, FILE *out)
{
	const struct value *value = metadata_entry_value(key->value);
	int rc = 0;
	struct view *view = metadata_entry_view(key->value, &rc);
	char text[SHOWN + 2];
	ssize_t n;

	if (!view)
		return rc;
	n = view_read(view, text, sizeof(text), 0);
	if (n > 0) {
		/* Leave out the newline at the end. */
		print_cut(text, (uint64_t)n == view_size(view) ? (size_t)n - 1 : (size_t)n, SHOWN,
			  out);
		if ((uint64_t)n != view_size(view) && value->type.type == KV_ARRAY)
			fprintf(out, " (%" PRIu64 " elements)", value->count);
	}
	view_unref(view);
	return n < 0 ? (int)n : 0;
}

static int print_key(char side, const struct diff_key *key, const struct diff_key *other, FILE *out)
{
	const struct value *value = metadata_entry_value(key->value);
	char type[VALUE_TYPE_TEXT];
	int rc;

	fprintf(out, "%c ", side);
	print_cut(key->key, key->length, KEY_SHOWN, out);
	if (other && !value_type_same(value->type, metadata_entry_value(other->value)->type))
		fprintf(out, " (%s)", value_type_text(value->type, type));
	fputs(" = ", out);
	rc = print_value(key, out);
	fputc('\n', out);
	return rc;
}

int diff_keys_print(const struct diff_keys *keys, FILE *out)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < keys->n; i++) {
		const struct diff_key_pair *pair = &keys->pairs[i];

		if (pair->here)
			rc = print_key('<', pair->here, pair->there, out);
		if (rc == 0 && pair->there)
			rc = print_key('>', pair->there, pair->here, out);
	}
	return rc;
}

static const struct diff_key *find(const struct diff_side *side, const char *key)
{
	return diff_side_key(side, key, strlen(key));
}

static bool differs(const struct diff_keys *keys, const char *key)
{
	for (size_t i = 0; i < keys->n; i++) {
		const struct diff_key_pair *pair = &keys->pairs[i];
		const struct diff_key *any = pair->here ? pair->here : pair->there;

		if (any->length == strlen(key) && memcmp(any->key, key, any->length) == 0)
			return true;
	}
	return false;
}

bool diff_keys_other_basis(const struct diff_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++) {
		const struct diff_key_pair *pair = &keys->pairs[i];
		const struct diff_key *any = pair->here ? pair->here : pair->there;

		if (basis_is_key(any->key, any->length))
			return true;
	}
	return false;
}

/* Whether ids of special tokens differ, "tokenizer.ggml.bos_token_id" and others. */
static bool special_differ(const struct diff_keys *keys)
{
	static const char before[] = "tokenizer.ggml.", after[] = "_token_id";
	const size_t n = sizeof(before) - 1, m = sizeof(after) - 1;

	for (size_t i = 0; i < keys->n; i++) {
		const struct diff_key_pair *pair = &keys->pairs[i];
		const struct diff_key *any = pair->here ? pair->here : pair->there;

		if (any->length > n + m && memcmp(any->key, before, n) == 0 &&
		    memcmp(any->key + any->length - m, after, m) == 0)
			return true;
	}
	return false;
}

/* Print the value of a key, or "none". */
static int print_named(const struct diff_side *side, const char *name, FILE *out)
{
	const struct diff_key *key = find(side, name);

	if (key)
		return print_value(key, out);
	fputs("none", out);
	return 0;
}

static int print_vocabulary(const struct diff_side *side, const struct diff_key *tokens, FILE *out)
{
	const int rc = print_named(side, "tokenizer.ggml.model", out);

	fprintf(out, " of %" PRIu64 " tokens", metadata_entry_value(tokens->value)->count);
	return rc;
}

static int print_other_vocabulary(const struct diff_keys *keys, const struct diff_key *a,
				  const struct diff_key *b, FILE *out)
{
	int rc;

	fputs("another vocabulary: ", out);
	rc = print_vocabulary(keys->here, a, out);
	fputs(" here, ", out);
	if (rc == 0)
		rc = print_vocabulary(keys->there, b, out);
	fputs(" there", out);
	return rc;
}

int diff_keys_print_tokenizers(const struct diff_keys *keys, FILE *out)
{
	const struct diff_key *a = find(keys->here, "tokenizer.ggml.tokens");
	const struct diff_key *b = find(keys->there, "tokenizer.ggml.tokens");
	int rc = 0;

	if (!a || !b) {
		fputs(a ? "only here" : b ? "only there" : "none in either", out);
		return 0;
	}
	if (differs(keys, "tokenizer.ggml.model") || differs(keys, "tokenizer.ggml.tokens") ||
	    differs(keys, "tokenizer.ggml.token_type") || differs(keys, "tokenizer.ggml.merges"))
		return print_other_vocabulary(keys, a, b, out);
	fprintf(out, "the same %" PRIu64 " tokens", metadata_entry_value(a->value)->count);
	if (special_differ(keys))
		fputs("; other special tokens (beginning, end, ...)", out);
	if (differs(keys, "tokenizer.ggml.pre")) {
		fputs("; split by ", out);
		rc = print_named(keys->here, "tokenizer.ggml.pre", out);
		fputs(" here, ", out);
		if (rc == 0)
			rc = print_named(keys->there, "tokenizer.ggml.pre", out);
		fputs(" there, which may be the same", out);
	}
	return rc;
}
