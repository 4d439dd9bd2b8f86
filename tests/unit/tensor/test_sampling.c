/* SPDX-License-Identifier: MIT */
/* test_sampling.c - fs/tensor/sampling.c: the measure covers the decoded values of the sample's
 * spans, and no others. */
#include "fs/storage/backing.h"
#include "fs/tensor/sampling.h"
#include "gguf/bytes.h"
#include "gguf/dequant.h"
#include "measure/sample.h"
#include "tests/unit/small_gguf.h"
#include "tests/unit/zinputs.h"
#include "tests/unit/zmeasures.h"

/* An organ's blocks in memory and in a file, at an odd offset and with bytes behind them. */
struct blocks {
	uint8_t *bytes;
	uint64_t size;
	struct sampling sampling;
};

#define AT    1237
#define AFTER 41

/* A caller that stops after that many questions whether the result is wanted. */
struct asker {
	uint64_t asked, patience;
};

static bool is_wanted(void *context)
{
	struct asker *asker = context;

	return asker->asked++ < asker->patience;
}

static void fill_blocks(uint32_t type, uint8_t *bytes, size_t size)
{
	uint32_t state = 1;

	for (size_t i = 0; i < size; i++)
		bytes[i] = mk_byte(type, i);
	for (size_t i = 0; type == GGML_F32 && i < size / 4; i++) {
		const float value = (float)(bell(&state) * (i % 97 ? 1 : 20));

		store_bytes(bytes + 4 * i, &value, 4);
	}
}

static struct blocks new_blocks(void **state, uint32_t type, uint64_t elements, struct asker *asker)
{
	const uint64_t ne[GGML_AXES] = { elements, 1, 1, 1 };
	struct blocks b;
	uint8_t *file;

	*asker = (struct asker){ .patience = UINT64_MAX };
	must(type_size(type, ne, &b.size) == TYPE_SIZE_OK);
	b.bytes = malloc(b.size + 1);
	file = malloc(AT + b.size + AFTER);
	must(b.bytes && file);
	fill_blocks(type, b.bytes, b.size);
	memset(file, 0x3c, AT + b.size + AFTER);
	store_bytes(file + AT, b.bytes, b.size);
	write_file(in_temp(state, "file").text, file, AT + b.size + AFTER);
	free(file);
	b.sampling = (struct sampling){
		.file = backing_open(in_temp(state, "file").text, NULL),
		.offset = AT,
		.type = type,
		.elements = elements,
		.samples = SAMPLE_DEFAULT,
		.wanted = is_wanted,
		.context = asker,
	};
	must(b.sampling.file);
	return b;
}

static void free_blocks(struct blocks *b)
{
	backing_unref(b->sampling.file);
	free(b->bytes);
}

/* Measure of the spans of sample.h, decoded one after another. */
static struct zmeasure z_of_spans(const struct blocks *b, uint64_t limit)
{
	const struct type_info *type = type_find(b->sampling.type);
	float *values = malloc((sample_total(b->sampling.elements, limit) + 1) * sizeof(*values));
	struct sample sample;
	struct span span;
	struct zmeasure z;
	size_t n = 0;

	must(values);
	sample_init(&sample, b->sampling.elements, limit);
	while (sample_next(&sample, &span)) {
		dequant_range(b->sampling.type,
			      b->bytes + span.start / type->block_elements * type->block_bytes, 0,
			      span.count, values + n);
		n += span.count;
	}
	z = z_of_values(values, n, b->sampling.elements);
	free(values);
	return z;
}

#define assert_measures(b, expected) unit_assert_measures(b, expected, __FILE__, __LINE__)

static void unit_assert_measures(const struct blocks *b, struct zmeasure expected, const char *file,
				 int line)
{
	struct zmeasure z;
	const int rc = sampling_measure(&b->sampling, &z);

	if (rc == 0 && same_z(&z, &expected))
		return;
	print_error("type %u, %llu elements, %llu samples: rc %d, theta %.17g, not %.17g\n",
		    b->sampling.type, (unsigned long long)b->sampling.elements,
		    (unsigned long long)b->sampling.samples, rc, rc ? 0.0 : z.theta,
		    expected.theta);
	_fail(file, line);
}

static const uint32_t some_types[] = { GGML_F32,  GGML_F16,  GGML_BF16, GGML_Q8_0,
				       GGML_Q4_0, GGML_Q4_K, GGML_Q6_K, GGML_IQ4_XS };

/* Lengths in whole blocks of all types, around the chunk that is decoded at once and the sample. */
static const uint64_t some_lengths[] = { 256, 512, 65536, 65792, 99840, 100096, 131328, 300032 };

static void the_values_measured_are_those_of_the_spans(void **state)
{
	static const uint64_t limits[] = { 256, 1000, 66000, SAMPLE_DEFAULT, SAMPLE_LIMIT_MAX };

	for (size_t t = 0; t < ARRAY_LENGTH(some_types); t++)
		for (size_t l = 0; l < ARRAY_LENGTH(some_lengths); l++) {
			struct asker asker;
			struct blocks b = new_blocks(state, some_types[t], some_lengths[l], &asker);

			/* The limits vary with the type and with the length. */
			b.sampling.samples = limits[(t + l) % ARRAY_LENGTH(limits)];
			assert_measures(&b, z_of_spans(&b, b.sampling.samples));
			free_blocks(&b);
		}
}

static void all_values_are_measured_as_if_they_were_in_memory(void **state)
{
	for (size_t t = 0; t < ARRAY_LENGTH(some_types); t++)
		for (size_t l = 0; l < ARRAY_LENGTH(some_lengths); l++) {
			struct asker asker;
			struct blocks b = new_blocks(state, some_types[t], some_lengths[l], &asker);

			b.sampling.samples = SAMPLES_ALL;
			assert_measures(&b,
					z_of_blocks(b.sampling.type, b.bytes, b.sampling.elements));
			free_blocks(&b);
		}
}

static void a_length_need_not_be_whole_spans(void **state)
{
	static const uint64_t lengths[] = { 1, 7, 8, 255, 257, 65537, 100000, 100001, 200003 };
	static const uint64_t limits[] = { 256, SAMPLE_DEFAULT, SAMPLES_ALL };

	for (size_t l = 0; l < ARRAY_LENGTH(lengths); l++) {
		struct asker asker;
		struct blocks b = new_blocks(state, GGML_F32, lengths[l], &asker);

		for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
			b.sampling.samples = limits[i];
			assert_measures(&b,
					z_of_spans(&b, limits[i] ? limits[i] : SAMPLE_LIMIT_MAX));
		}
		free_blocks(&b);
	}
}

static void the_last_span_may_be_a_single_block(void **state)
{
	bool met = false;

	for (uint64_t tiles = 2; tiles < 60; tiles++) {
		struct asker asker;
		struct blocks b = new_blocks(state, GGML_Q8_0, 256 * tiles + 32, &asker);

		b.sampling.samples = 256 * tiles;
		met = met || sample_total(b.sampling.elements, 256 * tiles) % 256 == 32;
		assert_measures(&b, z_of_spans(&b, 256 * tiles));
		free_blocks(&b);
	}
	assert_true(met);
}

static void a_sample_of_256_values_is_one_span(void **state)
{
	struct asker asker;
	struct blocks b = new_blocks(state, GGML_Q4_K, 300032, &asker);
	struct zmeasure z;

	b.sampling.samples = 256;
	assert_int_equal(sampling_measure(&b.sampling, &z), 0);
	assert_int_equal(z.sampled, 256);
	assert_int_equal(z.elements, 300032);
	free_blocks(&b);
}

static void without_elements_there_is_no_theta(void **state)
{
	struct asker asker;
	struct blocks b = new_blocks(state, GGML_Q8_0, 0, &asker);
	struct zmeasure z = { 0 };

	assert_int_equal(sampling_measure(&b.sampling, &z), 0);
	assert_int_equal(z.status, ZMEASURE_NONFINITE);
	assert_int_equal(z.sampled, 0);
	b.sampling.samples = SAMPLES_ALL;
	assert_int_equal(sampling_measure(&b.sampling, &z), 0);
	assert_int_equal(z.sampled, 0);
	free_blocks(&b);
}

static void blocks_without_known_values_are_not_supported(void **state)
{
	static const uint32_t types[] = { GGML_Q8_1, 4, 5, 36, 200, UINT32_MAX };
	struct asker asker;
	struct blocks b = new_blocks(state, GGML_F32, 256, &asker);
	struct zmeasure z;

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		b.sampling.type = types[i];
		b.sampling.samples = SAMPLE_DEFAULT;
		assert_int_equal(sampling_measure(&b.sampling, &z), -ENOTSUP);
		b.sampling.samples = SAMPLES_ALL;
		assert_int_equal(sampling_measure(&b.sampling, &z), -ENOTSUP);
	}
	assert_int_equal(asker.asked, 0);
	free_blocks(&b);
}

static void only_the_blocks_of_the_sample_are_read(void **state)
{
	struct asker asker;
	struct blocks b = new_blocks(state, GGML_Q8_0, 300032, &asker);
	struct sample sample;
	struct span span;
	struct zmeasure z;
	uint64_t end = 0;

	sample_init(&sample, b.sampling.elements, 1000);
	while (sample_next(&sample, &span))
		end = AT + (span.start + span.count) / 32 * 34;
	assert_true(end < AT + b.size);
	b.sampling.samples = 1000;
	/* The file ends right behind the last block. */
	for (uint64_t missing = 0; missing < 2; missing++) {
		must(truncate(in_temp(state, "file").text, (off_t)(end - missing)) == 0);
		backing_unref(b.sampling.file);
		b.sampling.file = backing_open(in_temp(state, "file").text, NULL);
		if (!missing)
			assert_measures(&b, z_of_spans(&b, 1000));
		else
			assert_int_equal(sampling_measure(&b.sampling, &z), -EIO);
	}
	free_blocks(&b);
}

static const uint64_t all_ways[] = { 256, SAMPLE_DEFAULT, SAMPLES_ALL };

static void changed_file_is_an_error(void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(all_ways); i++) {
		struct asker asker;
		struct blocks b = new_blocks(state, GGML_F16, 131072, &asker);
		struct zmeasure z;

		b.sampling.samples = all_ways[i];
		/* All blocks are still readable. */
		change_times(state, "file");
		assert_int_equal(sampling_measure(&b.sampling, &z), -EIO);
		must(truncate(in_temp(state, "file").text, AT + 10) == 0);
		assert_int_equal(sampling_measure(&b.sampling, &z), -EIO);
		free_blocks(&b);
	}
}

static void stopped_measurement_ends_at_any_point(void **state)
{
	for (size_t i = 0; i < ARRAY_LENGTH(all_ways); i++) {
		struct asker asker;
		struct blocks b = new_blocks(state, GGML_F16, 300032, &asker);
		struct zmeasure z;
		uint64_t questions;

		b.sampling.samples = all_ways[i];
		assert_int_equal(sampling_measure(&b.sampling, &z), 0);
		questions = asker.asked;
		assert_true(questions > 0);
		for (uint64_t k = 0; k < questions; k++) {
			asker = (struct asker){ .patience = k };
			assert_int_equal(sampling_measure(&b.sampling, &z), -EINTR);
			assert_int_equal(asker.asked, k + 1);
		}
		free_blocks(&b);
	}
}

/* The number of values between two questions is limited. */
static void stop_is_checked_often_enough(void **state)
{
	struct asker asker;
	struct blocks b = new_blocks(state, GGML_F16, 300032, &asker);
	struct zmeasure z;

	assert_int_equal(sampling_measure(&b.sampling, &z), 0);
	assert_int_equal(asker.asked, SAMPLE_DEFAULT / 256);
	asker.asked = 0;
	b.sampling.samples = SAMPLES_ALL;
	assert_int_equal(sampling_measure(&b.sampling, &z), 0);
	assert_int_equal(asker.asked, 3 * (300032 / 65536 + 1));
	free_blocks(&b);
}

/* A read that waits for its interrupt. */
static int read_until_stopped(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
			      const atomic_bool *stop)
{
	(void)flags;
	(void)offset;
	memset(bytes, 0, n);
	must(stop == context);
	return stop && atomic_load(stop) ? -EINTR : 0;
}

static void release_nothing(void *context)
{
	(void)context;
}

static void a_read_that_takes_long_can_be_interrupted(void **state)
{
	static const uint64_t samples[] = { SAMPLE_DEFAULT, SAMPLES_ALL };
	const struct stat stat = { .st_size = 1 << 20 };
	struct asker asker;
	struct zmeasure result;
	float value;

	for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
		struct blocks b = new_blocks(state, GGML_F32, 2 * SAMPLE_DEFAULT, &asker);
		atomic_bool stop = false;

		backing_unref(b.sampling.file);
		b.sampling.file =
			backing_from_ops(&(struct backing_ops){ .read = read_until_stopped,
								.release = release_nothing,
								.context = &stop },
					 "/slow", &stat);
		must(b.sampling.file);
		b.sampling.samples = samples[i];
		b.sampling.stop = &stop;
		assert_int_equal(sampling_measure(&b.sampling, &result), 0);
		assert_int_equal(sampling_range(&b.sampling, 0, 1, &value), 0);
		atomic_store(&stop, true);
		assert_int_equal(sampling_measure(&b.sampling, &result), -EINTR);
		assert_int_equal(sampling_range(&b.sampling, 0, 1, &value), -EINTR);
		free_blocks(&b);
	}
}

static void without_memory_there_is_no_measure(void **state)
{
	needs_failing_allocations();
	for (size_t i = 0; i < ARRAY_LENGTH(all_ways); i++) {
		struct asker asker;
		struct blocks b = new_blocks(state, GGML_F32, 131072, &asker);
		struct zmeasure z;
		uint64_t k;

		b.sampling.samples = all_ways[i];
		for (k = 1;; k++) {
			int rc;

			allocation_fails(k);
			rc = sampling_measure(&b.sampling, &z);
			if (!allocation_failed()) {
				assert_int_equal(rc, 0);
				break;
			}
			assert_int_equal(rc, -ENOMEM);
		}
		assert_true(k > 3);
		free_blocks(&b);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
