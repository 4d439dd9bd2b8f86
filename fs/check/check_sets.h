/* SPDX-License-Identifier: MIT */
/* check_sets.h - what the grafts of one donor come to by themselves, whatever the donor is like:
 * shapes, types, places, and whether what works together came together. Nothing is read. All
 * return 0 or -ENOMEM. */
#ifndef FS_CHECK_SETS_H
#define FS_CHECK_SETS_H

#include "fs/check/check_groups.h"
#include "fs/check/check_verdict.h"

int sets_shape(const struct groups *groups, const struct group *group, struct finding *finding);

/* Does each play the part that its own header names? */
int sets_role(const struct groups *groups, const struct group *group, struct finding *finding);

/* Are all shapes those of tensors of the base that play the same part, or what its width makes
 * them? Then donor and host are as wide where it counts. False also without memory. */
bool sets_shapes_agree(const struct groups *groups, const struct group *group, uint64_t width);

int sets_type(const struct groups *groups, const struct group *group, struct finding *finding);
int sets_distance(const struct groups *groups, const struct group *group, struct finding *finding);

/* The same once it is known how alike the donor's matrices are to the base's (check_lineage.h; NAN:
 * it is not): what works together may be taken apart where both are one model at two
 * precisions. */
void sets_unit_of_kin(const struct groups *groups, const struct group *group, double likeness,
		      struct finding *finding);

/* Whole blocks are safest, then feed-forward networks and attentions, then single tensors. */
int sets_unit(const struct groups *groups, const struct group *group, struct finding *finding);

#endif
