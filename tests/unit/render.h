/* SPDX-License-Identifier: MIT */
/* render.h - a layout as the bytes it stands for, in memory. */
#ifndef TESTS_UNIT_RENDER_H
#define TESTS_UNIT_RENDER_H

#include "gguf/bytes.h"
#include "gguf/layout.h"

#include <stdlib.h>

/* Assert the invariants of a layout: aborts, so that the fuzzer notices as well. slots as given to
 * layout_build(). */
void check_layout(const struct layout *layout, const struct gguf *base,
		  const struct layout_slot *slots, uint32_t n);

/* The bytes, in a block of exactly layout->size to free(). grafts: the data of each graft by
 * slot. */
uint8_t *render_layout(const struct layout *layout, const uint8_t *base,
		       const uint8_t *const grafts[]);

#endif
