/* SPDX-License-Identifier: MIT */
/* check_sets.h - checks of the grafts of one donor without its file: shapes, types, places, and
 * whether sets that work together are complete. They read nothing. */
#ifndef FS_CHECK_CHECK_SETS_H
#define FS_CHECK_CHECK_SETS_H

#include <stdbool.h>
#include <stdint.h>

struct check_group;
struct check_groups;
struct finding;

/* Make a check. Returns 0 or -ENOMEM. */
typedef int check_sets_fn(const struct check_groups *groups, const struct check_group *group,
			  struct finding *finding);

check_sets_fn check_sets_shape;

/* Each graft has the role that its own header names. */
check_sets_fn check_sets_role;

/* Whether all shapes are those of the base's tensors of the same roles, or follow from its width;
 * then donor and host are equally wide for these grafts. False also if out of memory. */
bool check_sets_shapes_agree(const struct check_groups *groups, const struct check_group *group,
			     uint64_t width);

check_sets_fn check_sets_type;
check_sets_fn check_sets_distance;

/* Revise the finding of check_sets_unit with the likeness of donor and base (check_lineage.h; NaN:
 * unknown): sets may be divided between two precisions of one model. */
void check_sets_unit_of_kin(const struct check_groups *groups, const struct check_group *group,
			    double likeness, struct finding *finding);

/* Whole blocks are safest, then whole feed-forward networks and attentions, then single tensors. */
check_sets_fn check_sets_unit;

#endif
