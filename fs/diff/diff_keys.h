/* SPDX-License-Identifier: MIT */
/* diff_keys.h - the metadata of two models compared: keys whose values differ, and tokenizers. */
#ifndef FS_DIFF_DIFF_KEYS_H
#define FS_DIFF_DIFF_KEYS_H

#include <stdbool.h>
#include <stdio.h>

struct diff_key_pair {
	const struct diff_key *here, *there; /* NULL: no key of that name */
};

/* Keys that differ in type or value, in the order of the keys here, then those that are only
 * there. */
struct diff_keys {
	const struct diff_side *here, *there; /* borrowed */
	size_t n;
	struct diff_key_pair *pairs;
};

/* Find the keys that differ. Returns 0, -EIO or -ENOMEM; diff_keys_release() is due either way. */
int diff_keys_find(struct diff_keys *keys, const struct diff_side *here,
		   const struct diff_side *there);
void diff_keys_release(struct diff_keys *keys);

/* Print a line "< KEY = VALUE" for each value here and "> KEY = VALUE" for each value there, long
 * values cut, with the types if they differ. Returns 0, -EIO or -ENOMEM. */
int diff_keys_print(const struct diff_keys *keys, FILE *out);

/* Whether the weights have different bases (basis.h), and so cannot be compared. */
bool diff_keys_other_basis(const struct diff_keys *keys);

/* Print in words, without a newline, whether the tokenizers agree. Returns as diff_keys_print(). */
int diff_keys_print_tokenizers(const struct diff_keys *keys, FILE *out);

#endif
