/* SPDX-License-Identifier: MIT */
/* render.h - a layout rendered in memory. */
#ifndef TESTS_UNIT_RENDER_H
#define TESTS_UNIT_RENDER_H

#include "gguf/bytes.h"
#include "gguf/layout.h"

#include <stdlib.h>

/* Check the invariants of a layout, and abort on failure, so that fuzzers notice too. slots: the
 * argument of layout_build(). */
void check_layout(const struct layout *layout, const struct gguf *base,
		  const struct layout_slot *slots, uint32_t n);

/* Render a layout into a block of exactly layout->size; caller frees. grafts: the data of each
 * graft, by slot. */
uint8_t *render_layout(const struct layout *layout, const uint8_t *base,
		       const uint8_t *const grafts[]);

#endif
