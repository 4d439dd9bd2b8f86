/* SPDX-License-Identifier: MIT */
/* reference.c - see reference.h. */
#include "fs/reference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX ((size_t)1 << 19)

static void print_encoded(const char *bytes, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (c > ' ' && c < 0x7f && c != '%')
			fputc(c, out);
		else
			fprintf(out, "%%%02X", c);
	}
}

char *reference_text(const char *path, const char *fingerprint, const struct gguf_tensor *tensor)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("organfs reference 1\nmodel ", out);
	print_encoded(path, strlen(path), out);
	fprintf(out, "\nfingerprint %s\ntensor ", fingerprint);
	print_encoded(tensor->name, tensor->name_length, out);
	fputc('\n', out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* Decode in place. Returns the length. */
static size_t decode(char *text)
{
	size_t n = 0;

	for (const char *at = text; *at; at++) {
		if (at[0] == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
			text[n++] = (char)(hex_digit(at[1]) << 4 | hex_digit(at[2]));
			at += 2;
		} else {
			text[n++] = *at;
		}
	}
	return n;
}

/* The rest of the line that begins with a word, cut off. */
static char *find_line(char *text, const char *word)
{
	char *line = strstr(text, word), *end = line ? strchr(line + 1, '\n') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	return line + strlen(word);
}

static const struct gguf_tensor *find(char *text, const struct gguf *gguf, const char *fingerprint,
				      struct error *err)
{
	const bool ours = strncmp(text, "organfs reference 1\n", 20) == 0;
	/* The last line first: each is cut off. */
	char *tensor = ours ? find_line(text, "\ntensor ") : NULL;
	char *print = ours ? find_line(text, "\nfingerprint ") : NULL;
	const struct gguf_tensor *found;

	if (!tensor || !print) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET, "this is not a reference");
		return NULL;
	}
	if (strcmp(print, fingerprint) != 0) {
		error_set(err, ESTALE, ERROR_NO_OFFSET, "it refers to another model");
		return NULL;
	}
	found = gguf_tensor(gguf, tensor, decode(tensor));
	if (!found)
		error_set(err, ENOENT, ERROR_NO_OFFSET,
			  "it refers to a tensor that the model has not");
	return found;
}

const struct gguf_tensor *reference_read(struct backing *file, const struct gguf *gguf,
					 const char *fingerprint, struct error *err)
{
	const size_t size = (size_t)backing_size(file);
	const struct gguf_tensor *tensor = NULL;
	char *text;

	if (backing_size(file) > TEXT_MAX) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET, "this is not a reference");
		return NULL;
	}
	text = malloc(size + 1);
	if (!text || backing_read(file, text, size, 0) < 0) {
		error_set(err, text ? EIO : ENOMEM, ERROR_NO_OFFSET,
			  text ? "it cannot be read" : "out of memory");
	} else {
		text[size] = '\0';
		tensor = find(text, gguf, fingerprint, err);
	}
	free(text);
	return tensor;
}
