/* SPDX-License-Identifier: MIT */
/* anatomy.c - see anatomy.h. */
#include "anatomy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const struct known {
	const char *pattern; /* a name with {n} for every number and {s} for any word */
	enum organ_class klass;
} known[] = {
#include "anatomy_table.inc" /* made from tensor_classes.tsv */
};

/* Longer than any known pattern; a longer name is not looked up. */
#define PATTERN_MAX 96

const char *class_name(enum organ_class klass)
{
	static const char *const names[CLASSES] = { "skeleton", "organs",   "embed",
						    "norm",	"adapters", "other" };

	return names[klass];
}

const char *kind_name(enum tensor_kind kind)
{
	static const char *const names[KINDS] = { "ffn-dense", "moe-experts", "shared-experts",
						  "norm",      "embedding",   "attention",
						  "other" };

	return names[kind];
}

bool class_find(const char *name, size_t length, enum organ_class *klass)
{
	for (*klass = 0; *klass < CLASSES; ++*klass)
		if (strlen(class_name(*klass)) == length &&
		    memcmp(class_name(*klass), name, length) == 0)
			return true;
	return false;
}

static bool ends_with(const char *name, size_t length, const char *ending)
{
	const size_t n = strlen(ending);

	return length >= n && memcmp(name + length - n, ending, n) == 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Copy name with {n} for each component that consists of digits, and with after_underscore also for
 * digits after '_' at the end of a component. False: too long. */
static bool number_pattern(const char *name, size_t length, bool after_underscore,
			   char out[PATTERN_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < length;) {
		const bool begins =
			i == 0 || name[i - 1] == '.' || (after_underscore && name[i - 1] == '_');
		size_t end = i;

		while (begins && end < length && is_digit(name[end]))
			end++;
		if (n + 4 > PATTERN_MAX)
			return false;
		if (end > i && (end == length || name[end] == '.')) {
			memcpy(out + n, "{n}", 3);
			n += 3;
			i = end;
		} else {
			out[n++] = name[i++];
		}
	}
	out[n] = '\0';
	return true;
}

static int compare_known(const void *key, const void *row)
{
	return strcmp(key, ((const struct known *)row)->pattern);
}

static bool find_pattern(const char *pattern, enum organ_class *klass)
{
	const struct known *row = bsearch(pattern, known, sizeof(known) / sizeof(known[0]),
					  sizeof(known[0]), compare_known);

	if (row)
		*klass = row->klass;
	return row != NULL;
}

/* Look the pattern up with {s} for the part after its last separator. */
static bool find_word_pattern(const char *pattern, char separator, enum organ_class *klass)
{
	char word[PATTERN_MAX + 4];
	const char *last = strrchr(pattern, separator);

	if (!last)
		return false;
	snprintf(word, sizeof(word), "%.*s{s}", (int)(last - pattern + 1), pattern);
	return find_pattern(word, klass);
}

static bool find_known(const char *name, size_t length, enum organ_class *klass)
{
	char pattern[PATTERN_MAX];

	if (length >= PATTERN_MAX || memchr(name, '\0', length))
		return false;
	memcpy(pattern, name, length);
	pattern[length] = '\0';
	if (find_pattern(pattern, klass))
		return true;
	for (int after_underscore = 0; after_underscore < 2; after_underscore++)
		if (number_pattern(name, length, after_underscore, pattern) &&
		    (find_pattern(pattern, klass) || find_word_pattern(pattern, '.', klass) ||
		     find_word_pattern(pattern, '_', klass)))
			return true;
	return false;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

/* Comparing the first letter, a small one, first skips most positions quickly. */
static bool contains(const char *text, size_t length, const char *part)
{
	const size_t n = strlen(part);

	for (size_t i = 0; i + n <= length; i++)
		if ((text[i] | ('a' ^ 'A')) == part[0] && strncasecmp(text + i, part, n) == 0)
			return true;
	return false;
}

static bool contains_word(const char *name, size_t length, const char *word)
{
	size_t start = 0;

	for (size_t i = 0; i <= length; i++) {
		if (i < length && name[i] != '.' && name[i] != '_' && name[i] != '/')
			continue;
		if (is_word(name + start, i - start, word))
			return true;
		start = i + 1;
	}
	return false;
}

static bool begins_with(const char *name, size_t length, const char *start)
{
	const size_t n = strlen(start);

	return length >= n && memcmp(name, start, n) == 0;
}

/* An audio codec, without its transformers: its stages are neither layers nor blocks. */
static bool is_codec(const char *name, size_t length)
{
	return begins_with(name, length, "a.seanet.") ||
	       (begins_with(name, length, "a.gen.") &&
		!begins_with(name, length, "a.gen.code.blk.") &&
		!begins_with(name, length, "a.gen.wav.tfm.blk."));
}

/* Classify a name of another ecosystem (Hugging Face, diffusers, whisper) by the first rule that
 * applies. Words are matched whole, so that "fln" is not taken for a norm. */
static enum organ_class guess_class(const char *name, size_t length)
{
	static const struct {
		const char *part;
		bool whole;
		enum organ_class klass;
	} rules[] = {
		{ "lora", false, CLASS_ADAPTERS },
		{ "norm", false, CLASS_NORM },
		{ "ln", true, CLASS_NORM },
		{ "ln1", true, CLASS_NORM },
		{ "ln2", true, CLASS_NORM },
		{ "bn", true, CLASS_NORM },
		{ "lilicorr", true, CLASS_EMBED },
		{ "selector", true, CLASS_EMBED },
		{ "hc_head", false, CLASS_EMBED },
		{ "img_in", false, CLASS_EMBED },
		{ "txt_in", false, CLASS_EMBED },
		{ "time_in", false, CLASS_EMBED },
		{ "vector_in", false, CLASS_EMBED },
		{ "guidance_in", false, CLASS_EMBED },
		{ "final_layer", false, CLASS_EMBED },
		{ "embed", false, CLASS_EMBED },
		{ "embd", false, CLASS_EMBED },
		{ "wte", true, CLASS_EMBED },
		{ "wpe", true, CLASS_EMBED },
		{ "lm_head", false, CLASS_EMBED },
		{ "attn", false, CLASS_SKELETON },
		{ "attention", false, CLASS_SKELETON },
		{ "ssm", true, CLASS_SKELETON },
		{ "mixer", true, CLASS_SKELETON },
		{ "mod", true, CLASS_SKELETON },
		{ "modulation", false, CLASS_SKELETON },
		{ "scale_shift_table", false, CLASS_SKELETON },
		{ "mlp", false, CLASS_ORGANS },
		{ "ffn", false, CLASS_ORGANS },
		{ "ff", true, CLASS_ORGANS },
		{ "feed_forward", false, CLASS_ORGANS },
		{ "in_layers", false, CLASS_ORGANS },
		{ "out_layers", false, CLASS_ORGANS },
		{ "emb", true, CLASS_EMBED },
		{ "conv", false, CLASS_SKELETON },
		{ "expert", false, CLASS_ORGANS },
		{ "gate", false, CLASS_ORGANS },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].whole ? contains_word(name, length, rules[i].part)
				   : contains(name, length, rules[i].part))
			return rules[i].klass;
	return CLASS_OTHER;
}

/* The class of a name in the table, with or without a parameter's suffix. */
static bool find_class(const char *name, size_t length, enum organ_class *klass)
{
	static const char *const endings[] = { ".weight", ".bias", ".scale", ".input_scale",
					       ".scales" };

	if (find_known(name, length, klass))
		return true;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_with(name, length, endings[i]) &&
		    find_known(name, length - strlen(endings[i]), klass))
			return true;
	return false;
}

bool anatomy_known(const char *name, size_t length)
{
	enum organ_class klass;

	return find_class(name, length, &klass) || anatomy_block_kind(name, length) > 0;
}

enum organ_class anatomy_class(const char *name, size_t length)
{
	enum organ_class klass;

	if (ends_with(name, length, ".lora_a") || ends_with(name, length, ".lora_b"))
		return CLASS_ADAPTERS;
	/* Tensors of an importance matrix. */
	if (ends_with(name, length, ".in_sum2") || ends_with(name, length, ".counts"))
		return CLASS_OTHER;
	if (find_class(name, length, &klass))
		return klass;
	klass = guess_class(name, length);
	return klass != CLASS_NORM && is_codec(name, length) ? CLASS_OTHER : klass;
}

/* "ffn_up.3": an expert as a tensor of its own, as early conversions have it. */
static bool is_single_expert(const char *name, size_t length)
{
	static const char *const parts[] = { "ffn_up.", "ffn_down.", "ffn_gate." };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *at = memmem(name, length, parts[i], strlen(parts[i]));
		const char *next = at ? at + strlen(parts[i]) : NULL;

		if (next && next < name + length && is_digit(*next))
			return true;
	}
	return false;
}

bool anatomy_by_expert(const char *name, size_t length)
{
	static const char *const parameters[] = { ".weight", ".bias", ".scale" };
	static const char *const parts[] = { "_exps", "_chexps", ".ffn_gate_inp", ".exp_probs_b",
					     ".exp_probs_b_vl" };

	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		if (ends_with(name, length, parameters[i])) {
			length -= strlen(parameters[i]);
			break;
		}
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (ends_with(name, length, parts[i]))
			return !contains(name, length, "norm");
	return false;
}

static enum tensor_kind kind_of_organ(const char *name, size_t length)
{
	static const char *const routers[] = { "gate_inp", "exp_probs", "router", "tid2eid" };

	for (size_t i = 0; i < sizeof(routers) / sizeof(routers[0]); i++)
		if (contains(name, length, routers[i]))
			return KIND_OTHER;
	if (contains(name, length, "shexp") || contains(name, length, "shared_expert"))
		return KIND_SHARED;
	if (contains(name, length, "exps") || contains(name, length, "experts") ||
	    is_single_expert(name, length))
		return KIND_EXPERTS;
	return KIND_DENSE;
}

enum tensor_kind anatomy_kind_in(enum organ_class klass, const char *name, size_t length)
{
	switch (klass) {
	case CLASS_SKELETON:
		return KIND_ATTENTION;
	case CLASS_ORGANS:
		return kind_of_organ(name, length);
	case CLASS_NORM:
		return KIND_NORM;
	case CLASS_EMBED:
		if (contains(name, length, "norm"))
			return KIND_NORM;
		/* Factors of rotary embeddings are not weights. */
		return contains(name, length, "rope_f") ? KIND_OTHER : KIND_EMBEDDING;
	default:
		return KIND_OTHER;
	}
}

enum tensor_kind anatomy_kind(const char *name, size_t length)
{
	return anatomy_kind_in(anatomy_class(name, length), name, length);
}

/* Containers of blocks. Those of diffusion models begin the name. If apart is set, the model has
 * other containers with the same numbers and parts, so the role includes the container. */
static const struct {
	const char *mark;
	bool apart;
} marks[] = {
	{ "blk.", false },
	{ "blocks.", false },
	{ "layers.", false },
	{ "joint_blocks.", false },
	{ "transformer_blocks.", false },
	{ "double_blocks.", false },
	{ "double_layers.", false },
	{ "double_stream_blocks.", false },
	{ "single_transformer_blocks.", true },
	{ "single_blocks.", true },
	{ "single_layers.", true },
	{ "single_stream_blocks.", true },
	{ "context_refiner.", true },
	{ "noise_refiner.", true },
};

_Static_assert(sizeof(marks) / sizeof(marks[0]) <= ANATOMY_BLOCK_KINDS, "kinds of blocks");

/* The place of the block in a name: "MARK.N.". */
struct block_name {
	size_t start, digits, end;
	unsigned kind; /* index in marks */
	int32_t number;
};

/* Find the container of a block. False: none. */
static bool find_mark(const char *name, size_t length, struct block_name *block)
{
	size_t i = 0;

	for (unsigned kind = 1; kind < sizeof(marks) / sizeof(marks[0]); kind++) {
		if (begins_with(name, length, marks[kind].mark)) {
			*block = (struct block_name){ .digits = strlen(marks[kind].mark),
						      .kind = kind };
			return true;
		}
	}
	while (i < length && !begins_with(name + i, length - i, marks[0].mark)) {
		/* Skip a component, as in "v.blk.3.", "a.gen.wav.tfm.blk.3.". */
		while (i < length && name[i] != '.')
			i++;
		i++;
	}
	*block = (struct block_name){ .start = i, .digits = i + strlen(marks[0].mark) };
	return i < length;
}

/* Find the block and its number. False: none. */
static bool find_block(const char *name, size_t length, struct block_name *block)
{
	uint64_t number = 0;
	size_t i;

	if (is_codec(name, length) || !find_mark(name, length, block))
		return false;
	i = block->digits;
	while (i < length && is_digit(name[i]) && i - block->digits < 10)
		number = number * 10 + (uint64_t)(name[i++] - '0');
	if (i == block->digits || i == length || name[i] != '.' || number > INT32_MAX ||
	    (name[block->digits] == '0' && i - block->digits > 1))
		return false;
	block->end = i + 1;
	block->number = (int32_t)number;
	return true;
}

int32_t anatomy_block(const char *name, size_t length)
{
	struct block_name block;

	return find_block(name, length, &block) ? block.number : -1;
}

int anatomy_block_kind(const char *name, size_t length)
{
	struct block_name block;

	return find_block(name, length, &block) && block.start == 0 ? (int)block.kind : -1;
}

size_t anatomy_in_block(const char *name, size_t length, int32_t number, char *out, size_t size)
{
	struct block_name block;
	int n;

	if (!find_block(name, length, &block))
		return 0;
	n = snprintf(out, size, "%.*s%" PRId32 ".%.*s", (int)block.digits, name, number,
		     (int)(length - block.end), name + block.end);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static bool is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) || c == '_' ||
	       c == '-' || c == '+' || c == '.';
}

/* Encode one byte of a name if necessary. Returns the number of bytes written, 1 or 3. */
static size_t encode_byte(char c, bool first, char *out)
{
	static const char hex[] = "0123456789ABCDEF";

	if (is_plain(c) && !(first && c == '.')) {
		*out = c;
		return 1;
	}
	out[0] = '%';
	out[1] = hex[(unsigned char)c >> 4];
	out[2] = hex[(unsigned char)c & 15];
	return 3;
}

void anatomy_file_name(const char *name, size_t length, enum anatomy_form form,
		       char out[ANATOMY_NAME_MAX + 1])
{
	/* The encoding never produces '~', so a cut name cannot equal another one. */
	const size_t hash_size = 1 + 32;
	const XXH128_hash_t hash = XXH3_128bits(name, length);
	size_t n = 0, cut = 0;

	if (form == NAME_SHORT && ends_with(name, length, ".weight"))
		length -= strlen(".weight");
	for (size_t i = 0; i < length; i++) {
		const char c = form == NAME_SHORT && name[i] == '.' ? '_' : name[i];

		if (n <= ANATOMY_NAME_MAX - hash_size)
			cut = n;
		if (n + 3 > ANATOMY_NAME_MAX) {
			snprintf(out + cut, ANATOMY_NAME_MAX + 1 - cut,
				 "~%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
			return;
		}
		n += encode_byte(c, i == 0, out + n);
	}
	/* The encoding never produces a lone '%', so the NAME of the empty name is unique too. */
	if (n == 0)
		out[n++] = '%';
	out[n] = '\0';
}

void anatomy_role(const char *name, size_t length, char out[ANATOMY_NAME_MAX + 1])
{
	char without[ANATOMY_NAME_MAX];
	struct block_name block;
	size_t n;

	if (length > sizeof(without) || !find_block(name, length, &block)) {
		anatomy_file_name(name, length, NAME_SHORT, out);
		return;
	}
	n = marks[block.kind].apart ? block.digits : block.start;
	memcpy(without, name, n);
	memcpy(without + n, name + block.end, length - block.end);
	anatomy_file_name(without, n + length - block.end, NAME_SHORT, out);
}

/* The parts of a name before and after the block, without a final ".weight". */
struct halves {
	const char *before, *after;
	size_t n_before, n_after;
};

static struct halves halves_of(const char *name, size_t length)
{
	struct block_name block;

	if (ends_with(name, length, ".weight"))
		length -= strlen(".weight");
	if (!find_block(name, length, &block))
		return (struct halves){ name, name, length, 0 };
	return (struct halves){ name, name + block.end, block.digits, length - block.end };
}

bool anatomy_same_role(const char *a, size_t a_length, const char *b, size_t b_length)
{
	const struct halves x = halves_of(a, a_length), y = halves_of(b, b_length);

	return x.n_before == y.n_before && x.n_after == y.n_after &&
	       memcmp(x.before, y.before, x.n_before) == 0 &&
	       memcmp(x.after, y.after, x.n_after) == 0;
}

/* Does a tensor with that name belong to CLASS/NAME? */
static bool belongs_to(const char *tensor, size_t length, const char *name, enum organ_class klass)
{
	char file[ANATOMY_NAME_MAX + 1];

	anatomy_file_name(tensor, length, NAME_SHORT, file);
	if (strcmp(file, name) != 0) {
		anatomy_file_name(tensor, length, NAME_EXACT, file);
		if (strcmp(file, name) != 0)
			return false;
	}
	return anatomy_class(tensor, length) == klass;
}

size_t anatomy_added(const char *tensor, size_t length, const char *name, enum organ_class klass,
		     char *out, size_t size)
{
	struct block_name block;
	uint64_t number = 0;
	size_t n, digits = 0;

	if (length >= size)
		return 0;
	memcpy(out, tensor, length);
	out[length] = '\0';
	if (belongs_to(out, length, name, klass))
		return length;
	if (!find_block(tensor, length, &block) || strlen(name) < block.digits)
		return 0;
	/* Up to the number NAME has the same bytes, with '_' for '.'. */
	while (is_digit(name[block.digits + digits]) && digits < 10)
		number = number * 10 + (uint64_t)(name[block.digits + digits++] - '0');
	if (digits == 0 || number > INT32_MAX)
		return 0;
	n = anatomy_in_block(tensor, length, (int32_t)number, out, size);
	return n && belongs_to(out, n, name, klass) ? n : 0;
}
