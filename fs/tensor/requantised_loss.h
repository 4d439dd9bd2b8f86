/* SPDX-License-Identifier: MIT */
/* requantised_loss.h - the error of a tensor's values in another ggml type (requantised.h). */
#ifndef FS_TENSOR_REQUANTISED_LOSS_H
#define FS_TENSOR_REQUANTISED_LOSS_H

#include <stdatomic.h>
#include <stdint.h>

struct importance_matrix;
struct organ_location;

/* The relative error of all values of the organ when encoded in that type as by requantised_view():
 * the norm of the difference over the norm of the values. If importance, which may be NULL, has
 * weights for the organ, each value and difference is multiplied by the root of its weight. *loss
 * is 0 for the organ's own type, which reads nothing, and for zeros; NaN if a value is not finite
 * before or after. Returns 0, or -EINTR soon after *stop became true (stop may be NULL); -ENOTSUP:
 * the file is gone; -EIO: the file was changed; -ENOMEM. */
int requantised_loss(const struct organ_location *located, uint32_t type,
		     struct importance_matrix *importance, const atomic_bool *stop, double *loss);

#endif
