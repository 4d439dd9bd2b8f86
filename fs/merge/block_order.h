/* SPDX-License-Identifier: MIT */
/* block_order.h - an order of the blocks of one model, in two forms: a line of numbers and ranges,
 * "0-20 14-31", and the merge configuration with that result: passthrough, one slice per range. */
#ifndef FS_MERGE_BLOCK_ORDER_H
#define FS_MERGE_BLOCK_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct error;

struct block_order {
	size_t n;
	uint32_t *blocks; /* n numbers, to free */
};

/* Read a line of numbers and ranges FIRST-LAST between blanks, each number below blocks; a line
 * that begins with "#" is a comment. Returns 0, or -errno with err set: EINVAL, ENOMEM. The caller
 * frees order->blocks, also after an error. */
int block_order_read(const char *text, uint32_t blocks, struct block_order *order,
		     struct error *err);

/* The order as a line with its line break, to free. NULL: out of memory. */
char *block_order_text(const struct block_order *order);

/* The configuration that puts the blocks of that model in this order, to free. NULL: out of
 * memory. */
char *block_order_config(const struct block_order *order, const char *model);

/* Read the order from a configuration of size bytes. Returns 1; 0 if the configuration does more
 * than to order blocks of one model; -ENOMEM. The caller frees order->blocks in each case. */
int block_order_of_config(const char *text, size_t size, struct block_order *order);

#endif
