/* SPDX-License-Identifier: MIT */
/* turns.h - one after another, in the order in which they came, and nobody has to wait. */
#ifndef FS_TURNS_H
#define FS_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>

struct turns; /* any thread may use it */

struct turns *turns_new(void); /* NULL: out of memory */
void turns_free(struct turns *turns);

/* Wait for the turn, which turns_give() ends. Returns 0, or soon -EINTR when *cancel, which may be
 * NULL, becomes true before. */
int turns_take(struct turns *turns, const atomic_bool *cancel);
void turns_give(struct turns *turns);

#endif
