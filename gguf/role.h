/* SPDX-License-Identifier: MIT */
/* role.h - may the tensor of one name stand where a model has the tensor of another? What a tensor
 * does is in its name, less the number of its block. */
#ifndef GGUF_ROLE_H
#define GGUF_ROLE_H

#include <stddef.h>

enum role_match {
	ROLE_SAME,
	ROLE_ALIKE,   /* another one, for which it is known to do where the shapes are the same */
	ROLE_UNNAMED, /* the tensor's name says nothing that is known */
	ROLE_OTHER,
};

/* A tensor of that name in the place of the one called slot. Names may hold NULs. */
enum role_match role_match(const char *slot, size_t slot_length, const char *tensor, size_t length);

#endif
