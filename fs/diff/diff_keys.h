/* SPDX-License-Identifier: MIT */
/* diff_keys.h - the metadata of two models beside each other: the keys whose values differ, and
 * what that says of the tokenizers. */
#ifndef FS_DIFF_DIFF_KEYS_H
#define FS_DIFF_DIFF_KEYS_H

#include <stdbool.h>
#include <stdio.h>

struct diff_key_pair {
	const struct diff_key *here, *there; /* NULL: there is none of that name */
};

/* Those that differ in type or value: in the order of the keys here, and after them those that are
 * only there. */
struct diff_keys {
	const struct diff_side *here, *there; /* borrowed */
	size_t n;
	struct diff_key_pair *pairs;
};

/* Compare. Returns 0, -EIO or -ENOMEM; diff_keys_release() is due either way. */
int diff_keys_find(struct diff_keys *keys, const struct diff_side *here,
		   const struct diff_side *there);
void diff_keys_release(struct diff_keys *keys);

/* Print a line "< KEY = VALUE" for each value that is here, and "> KEY = VALUE" for each there; of
 * long ones the beginning, of another type the type too. Returns 0, -EIO or -ENOMEM. */
int diff_keys_print(const struct diff_keys *keys, FILE *out);

/* Are the weights stored in different bases (basis.h)? Then their differences mean nothing. */
bool diff_keys_other_basis(const struct diff_keys *keys);

/* Print in words, without a newline, whether the tokenizers agree. Returns as above. */
int diff_keys_print_tokenizers(const struct diff_keys *keys, FILE *out);

#endif
