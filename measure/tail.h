/* SPDX-License-Identifier: MIT */
/* tail.h - selects the least energies that together stay within a budget: the longest sequence,
 * ascending (of equal ones the later first), whose sum does not exceed the budget. Sums over digits
 * of the floats' bits replace sorting. */
#ifndef MEASURE_TAIL_H
#define MEASURE_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Energies below a value, and those that equal it from an index on. */
struct energy_tail {
	uint32_t key; /* the value's bits, whose order is that of the numbers */
	size_t from;
};

/* Select from count energies, none negative, with a finite total. scratch: count keys. */
struct energy_tail tail_find(const float *energies, size_t count, double total, double budget,
			     uint32_t *scratch);

static inline bool tail_has(const struct energy_tail *tail, float energy, size_t place)
{
	uint32_t key;

	memcpy(&key, &energy, sizeof(key));
	return key < tail->key || (key == tail->key && place >= tail->from);
}

#endif
