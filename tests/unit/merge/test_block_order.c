/* SPDX-License-Identifier: MIT */
/* test_block_order.c - fs/merge/block_order.c: orders of blocks as lines and as configurations. */
#include "fs/merge/block_order.h"
#include "tests/unit/unit.h"

static void assert_order(const struct block_order *order, const uint32_t *blocks, size_t n)
{
	assert_int_equal(order->n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order->blocks[i], blocks[i]);
}

static void ranges_and_numbers_are_read_and_printed(void **state)
{
	static const uint32_t blocks[] = { 0, 1, 2, 1, 2, 3, 7, 0 };
	struct block_order order;
	struct error err = { 0 };
	char *text;

	(void)state;
	assert_int_equal(block_order_read("# as it was\n 0-2\t1-3 7\n0\n", 8, &order, &err), 0);
	assert_order(&order, blocks, 8);
	text = block_order_text(&order);
	assert_string_equal(text, "0-2 1-3 7 0\n");
	free(text);
	free(order.blocks);
}

static void lines_that_are_no_order_are_refused_with_the_word(void **state)
{
	static const struct {
		const char *line, *says;
	} refused[] = {
		{ "", "no block" },
		{ "# 0-3\n", "no block" },
		{ "0 8", "\"8\" is neither" },
		{ "8", "there are 8, from 0 on" },
		{ "0-8", "\"0-8\" is neither" },
		{ "-1", "\"-1\" is neither" },
		{ "1-", "\"1-\" is neither" },
		{ "1-2-3", "\"1-2-3\" is neither" },
		{ "+1", "\"+1\" is neither" },
		{ "1,2", "\"1,2\" is neither" },
		{ "0x1", "\"0x1\" is neither" },
		{ "99999999999999999999", "is neither" },
		{ "3-1", "\"3-1\" runs backwards" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct block_order order;
		struct error err = { 0 };
		char text[320];

		assert_int_equal(block_order_read(refused[i].line, 8, &order, &err), -EINVAL);
		error_describe(&err, text, sizeof(text));
		if (!strstr(text, refused[i].says))
			fail_msg("%s: %s", refused[i].line, text);
		free(order.blocks);
	}
}

/* The order repeats a range of the largest model. */
static void an_order_that_is_too_long_is_refused(void **state)
{
	struct block_order order;
	struct error err = { 0 };
	char line[4096] = "";

	(void)state;
	for (size_t i = 0; i < 1025; i++)
		strcat(line, "0 ");
	assert_int_equal(block_order_read(line, 8, &order, &err), -EINVAL);
	free(order.blocks);
	assert_int_equal(block_order_read("0-999999 0-999999", 1000000, &order, &err), -EINVAL);
	free(order.blocks);
}

static void configuration_gives_the_order_back(void **state)
{
	static const uint32_t blocks[] = { 4, 0, 1, 2, 2 };
	struct block_order order, again;
	struct error err = { 0 };
	char *config;

	(void)state;
	assert_int_equal(block_order_read("4 0-2 2", 5, &order, &err), 0);
	config = block_order_config(&order, "it's: a+b #name");
	assert_int_equal(block_order_of_config(config, strlen(config), &again), 1);
	assert_order(&again, blocks, 5);
	free(again.blocks);
	free(order.blocks);
	free(config);
}

static void configuration_of_a_merge_is_no_order(void **state)
{
	static const char *const others[] = {
		"merge_method: passthrough\nmodels: [{model: a}]\n",
		"merge_method: passthrough\nslices:\n"
		"- sources: [{model: a, layer_range: [0, 1]}]\n"
		"- sources: [{model: b, layer_range: [0, 1]}]\n",
		"merge_method: passthrough\ndtype: float16\nslices:\n"
		"- sources: [{model: a, layer_range: [0, 1]}]\n",
		"merge_method: passthrough\nslices:\n"
		"- sources: [{model: a, layer_range: [0, 1], parameters: {scale: 2}}]\n",
		"merge_method: passthrough\nslices:\n"
		"- sources: [{model: a, layer_range: [0, 1]}]\n"
		"  parameters: {scale: 2}\n",
		"merge_method: linear\nslices:\n"
		"- sources: [{model: a, layer_range: [0, 1], parameters: {weight: 1}}]\n",
		"no: configuration\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct block_order order;

		if (block_order_of_config(others[i], strlen(others[i]), &order) != 0)
			fail_msg("%s", others[i]);
		free(order.blocks);
	}
}

UNIT_MAIN(NULL, NULL)
