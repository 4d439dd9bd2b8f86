/* SPDX-License-Identifier: MIT */
/* gguf_bytes.h - read valid GGUF from memory. */
#ifndef TESTS_UNIT_GGUF_BYTES_H
#define TESTS_UNIT_GGUF_BYTES_H

#include "gguf/reader.h"
#include "tests/unit/unit.h"

struct gguf *read_bytes(const uint8_t *bytes, size_t size);

#endif
