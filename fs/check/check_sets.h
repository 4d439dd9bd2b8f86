/* SPDX-License-Identifier: MIT */
/* check_sets.h - what the grafts of one donor come to by themselves, whatever the donor is like:
 * shapes, types, places, and whether what works together came together. Nothing is read. */
#ifndef FS_CHECK_CHECK_SETS_H
#define FS_CHECK_CHECK_SETS_H

#include <stdbool.h>
#include <stdint.h>

struct check_group;
struct check_groups;
struct finding;

/* Returns 0 or -ENOMEM. */
typedef int check_sets_fn(const struct check_groups *groups, const struct check_group *group,
			  struct finding *finding);

check_sets_fn check_sets_shape;

/* Does each play the part that its own header names? */
check_sets_fn check_sets_role;

/* Are all shapes those of tensors of the base that play the same part, or what its width makes
 * them? Then donor and host are as wide where it counts. False also without memory. */
bool check_sets_shapes_agree(const struct check_groups *groups, const struct check_group *group,
			     uint64_t width);

check_sets_fn check_sets_type;
check_sets_fn check_sets_distance;

/* The same once it is known how alike the donor's matrices are to the base's (check_lineage.h; NAN:
 * it is not): what works together may be taken apart where both are one model at two
 * precisions. */
void check_sets_unit_of_kin(const struct check_groups *groups, const struct check_group *group,
			    double likeness, struct finding *finding);

/* Whole blocks are safest, then feed-forward networks and attentions, then single tensors. */
check_sets_fn check_sets_unit;

#endif
