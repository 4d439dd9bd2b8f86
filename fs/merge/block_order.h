/* SPDX-License-Identifier: MIT */
/* block_order.h - an order of the blocks of one model: as a line of numbers and ranges,
 * "0-20 14-31", and as the configuration that merges the model so: passthrough, a slice a range. */
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
 * that begins with "#" is a comment. Returns 0, or -errno with err set: EINVAL, ENOMEM. Freeing
 * order->blocks is due in each case. */
int block_order_read(const char *text, uint32_t blocks, struct block_order *order,
		     struct error *err);

/* The order as such a line with a line break, to free. NULL: out of memory. */
char *block_order_text(const struct block_order *order);

/* The configuration that merges the model of that name so, to free. NULL: out of memory. */
char *block_order_config(const struct block_order *order, const char *model);

/* Read the order from such a configuration of size bytes. Returns 1; 0 it does more than to order
 * blocks of one model; -ENOMEM. order->blocks is to be freed in each case. */
int block_order_of_config(const char *text, size_t size, struct block_order *order);

#endif
