/* SPDX-License-Identifier: MIT */
/* role.h - may a tensor take another one's place in a model, judged by their names? */
#ifndef GGUF_ROLE_H
#define GGUF_ROLE_H

#include <stddef.h>

enum role_match {
	ROLE_SAME,
	ROLE_ALIKE,   /* another role, but known to serve if the shapes are equal */
	ROLE_UNNAMED, /* the tensor's name is not known */
	ROLE_OTHER,
};

/* Compare the name of a tensor with that of the slot that it should fill. Names may hold NULs. */
enum role_match role_match(const char *slot, size_t slot_length, const char *tensor, size_t length);

#endif
