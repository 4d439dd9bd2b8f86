/* SPDX-License-Identifier: MIT */
/* requantised_loss.h - the error of a tensor's values in another ggml type (requantised.h). */
#ifndef FS_TENSOR_REQUANTISED_LOSS_H
#define FS_TENSOR_REQUANTISED_LOSS_H

#include <stdatomic.h>
#include <stdint.h>

struct importance_matrix;
struct organ_location;

/* The length of the difference between all values of the organ and the same values encoded in that
 * type, as requantised_view() does, over the length of the values; if importance, which may be
 * NULL, has weights for the organ, each value and difference counts times the root of its weight.
 * It is 0 for the organ's own type, which reads nothing, and for zeros, and NaN if a value is not
 * finite before or after. Returns 0, or -EINTR soon after *stop, which may be NULL, is true;
 * -ENOTSUP: the bytes are in a file that is gone; -EIO: the file is not what it was; -ENOMEM. */
int requantised_loss(const struct organ_location *located, uint32_t type,
		     struct importance_matrix *importance, const atomic_bool *stop, double *loss);

#endif
