/* SPDX-License-Identifier: MIT */
/* check_traits.h - metadata in which a graft and its host have to agree, and its comparison. Keys
 * and defaults are llama.cpp's. */
#ifndef FS_CHECK_CHECK_TRAITS_H
#define FS_CHECK_CHECK_TRAITS_H

#include <stdbool.h>
#include <xxhash.h>

struct finding;
struct gguf;
struct halt;
struct source;

enum trait {
	TRAIT_EMBEDDING,
	TRAIT_HEADS,
	TRAIT_KV_HEADS,
	TRAIT_KEY,
	TRAIT_VALUE,
	TRAIT_ROPE_DIMENSIONS,
	TRAIT_FEED_FORWARD,
	TRAIT_EXPERTS,
	TRAIT_EXPERTS_USED,
	TRAIT_NUMBERS,
};
extern const char *const check_traits_keys[TRAIT_NUMBERS]; /* without the architecture */

/* A number, or one for each block. */
struct trait_number {
	bool known;
	uint64_t low, high; /* least and greatest */
	uint64_t hash;	    /* hash of all; a single number is its own hash */
};

#define TRAIT_TEXT 64

struct traits {
	char architecture[TRAIT_TEXT]; /* these three: empty if missing */
	char name[TRAIT_TEXT], base_model[TRAIT_TEXT];
	struct trait_number numbers[TRAIT_NUMBERS];
	double rope_base, rope_factor; /* defaults if missing */
	char rope_scaling[TRAIT_TEXT];
	double rope_context;	    /* context before scaling; 0: missing */
	XXH128_hash_t rope_factors; /* hash of the tensors of factors; zeros: none */
	bool has_epsilon, has_tokenizer;
	double epsilon;
	char tokenizer[TRAIT_TEXT], tokenizer_pre[TRAIT_TEXT];
	uint64_t tokens;
	XXH128_hash_t vocabulary, special; /* tokens, types, merges; numbers of special tokens */
	XXH128_hash_t basis;		   /* basis of the weights (basis.h) */
};

/* Read the traits of a parsed model from its file. Returns 0, -EINTR soon after halt, -EIO or
 * -ENOMEM. */
int check_traits_read(const struct gguf *gguf, const struct source *source, const struct halt *halt,
		      struct traits *traits);

/* Whether the metadata has only an architecture. */
bool check_traits_bare(const struct traits *traits);

/* Parts of a model that grafts belong to, as bits. */
enum concern {
	CONCERN_ATTENTION = 1,
	CONCERN_FFN = 2,
	CONCERN_TOKENS = 4, /* token embedding, output head */
};

/* Compare donor and host in one respect each. */
void check_traits_architecture(const struct traits *host, const struct traits *donor,
			       struct finding *finding);
void check_traits_dimensions(const struct traits *host, const struct traits *donor,
			     unsigned concerns, struct finding *finding);
void check_traits_rope(const struct traits *host, const struct traits *donor, unsigned concerns,
		       struct finding *finding);
void check_traits_epsilon(const struct traits *host, const struct traits *donor,
			  struct finding *finding);
void check_traits_tokenizer(const struct traits *host, const struct traits *donor,
			    unsigned concerns, struct finding *finding);

/* The names of both models; always ok. */
void check_traits_names(const struct traits *host, const struct traits *donor,
			struct finding *finding);

/* Check that the blocks of both models have the same roles, among those that concern such grafts:
 * biases, norms of queries and keys, and norms after attention and feed-forward network are
 * optional. Returns 0 or -ENOMEM. */
int check_traits_parts(const struct gguf *host, const struct gguf *donor, unsigned concerns,
		       struct finding *finding);

#endif
