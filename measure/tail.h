/* SPDX-License-Identifier: MIT */
/* tail.h - the least of many energies that together stay within a budget: ascending, of equal ones
 * the later first, the longest sequence whose sum does not exceed it. Found by sums over digits of
 * the floats' bits instead of sorting. */
#ifndef MEASURE_TAIL_H
#define MEASURE_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Those below an energy, and of those that equal it the ones from a place on. */
struct energy_tail {
	uint32_t key; /* the energy's bits, whose order is the numbers' */
	size_t from;
};

/* Of count energies, none negative, whose sum is total, finite. scratch: room for as many. */
struct energy_tail tail_find(const float *energies, size_t count, double total, double budget,
			     uint32_t *scratch);

static inline bool tail_has(const struct energy_tail *tail, float energy, size_t place)
{
	uint32_t key;

	memcpy(&key, &energy, sizeof(key));
	return key < tail->key || (key == tail->key && place >= tail->from);
}

#endif
