/* SPDX-License-Identifier: MIT */
/* merge_random.h - a reproducible pseudo-random number for each element of a tensor: the XXH64 of
 * the element's number (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), written out for an input
 * of eight bytes. */
#ifndef MEASURE_MERGE_RANDOM_H
#define MEASURE_MERGE_RANDOM_H

#include <stdint.h>

#define MERGE_RANDOM_BITS 24
#define MERGE_RANDOM_END  ((double)(1u << MERGE_RANDOM_BITS))

static inline uint64_t merge_hash(uint64_t element, uint64_t seed)
{
	const uint64_t p1 = 11400714785074694791u, p2 = 14029467366897019727u;
	const uint64_t p3 = 1609587929392839161u, p4 = 9650029242287828579u;
	const uint64_t p5 = 2870177450012600261u;
	uint64_t lane = element * p2, hash = seed + p5 + sizeof(element);

	lane = (lane << 31 | lane >> 33) * p1;
	hash ^= lane;
	hash = (hash << 27 | hash >> 37) * p1 + p4;
	hash ^= hash >> 33;
	hash *= p2;
	hash ^= hash >> 29;
	hash *= p3;
	return hash ^ hash >> 32;
}

/* 0 to 2^24 - 1. */
static inline uint32_t merge_random(uint64_t element, uint64_t seed)
{
	return (uint32_t)(merge_hash(element, seed) >> (64 - MERGE_RANDOM_BITS));
}

#endif
