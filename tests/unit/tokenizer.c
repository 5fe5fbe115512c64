/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenisers: ids as the package `tokenizers` 0.21 makes them of the same small files, limits, and what is
 * refused. tests/interop/tokens.py compares texts and every character. */
#include "data/tokenizer/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define IDS_MAX 16u

#define WORDPIECE                                                                                           \
	"{\"added_tokens\":[{\"id\":2,\"content\":\"[CLS]\"},{\"id\":3,\"content\":\"[SEP]\"},"             \
	"{\"id\":4,\"content\":\"[MASK]\",\"lstrip\":true}],"                                               \
	"\"truncation\":{\"max_length\":12,\"strategy\":\"LongestFirst\",\"direction\":\"Right\"},"         \
	"\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"   \
	"\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]},"     \
	"\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","   \
	"\"max_input_chars_per_word\":10,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,"       \
	"\"[MASK]\":4,\"a\":5,\"film\":6,\"##s\":7,\"un\":8,\"##want\":9,\"##ed\":10,\".\":11,\"\\u4e2d\":" \
	"12,"                                                                                               \
	"\"##able\":13,\"unwant\":14,\"cafe\":15,\"$\":16,\"##\\u00fc\":17,\"i\":18}}}"

#define GPT2    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define ROBERTA "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}"
#define LLAMA3                                                                                            \
	"{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\","        \
	"\"pattern\":"                                                                                    \
	"{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}" \
	"| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}},"       \
	"{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}"
#define BPE(pre)                                                                                             \
	"{\"added_tokens\":[{\"id\":0,\"content\":\"<s>\"},{\"id\":21,\"content\":\"</"                      \
	"s>\"}],\"pre_tokenizer\":" pre ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{" \
	"\"SpecialToken\":{\"id\":\"<s>\"}},"                                                                \
	"{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[0]}}},"                        \
	"\"model\":{\"vocab\":{\"<s>\":0,\"a\":1,\"b\":2,\"\\u0120\":3,\"'\":4,\"s\":5,\"1\":6,\"\\u010a\":" \
	"7,"                                                                                                 \
	"\"\\u00c3\":8,\"\\u00a9\":9,\"!\":10,\"ab\":11,\"\\u0120ab\":12,\"\\u00c3\\u00a9\":13,\"aa\":14,"   \
	"\"'s\":15,"                                                                                         \
	"\"11\":16,\"\\u0120\\u0120\":17,\"!!\":18,\"\\u010a\\u010a\":19,\"aab\":20},\"merges\":[\"a b\","   \
	"\"\\u0120 ab\",\"\\u00c3 \\u00a9\",[\"a\",\"a\"],\"' s\",\"1 1\",\"\\u0120 \\u0120\",\"! !\","      \
	"\"\\u010a \\u010a\",\"aa b\"]}}"

static struct tokenizer *parse(const char *file)
{
	struct tokenizer *tokenizer = NULL;
	struct error err = { 0 };

	if (tokenizer_parse(file, strlen(file), &tokenizer, &err) < 0)
		fail_msg("%s", err.text);
	return tokenizer;
}

static struct tokenizer_thread *start(const struct tokenizer *tokenizer)
{
	struct tokenizer_thread *thread = NULL;
	struct error err = { 0 };

	assert_return_code(tokenizer_open(tokenizer, &thread, &err), 0);
	return thread;
}

/* Prints a text's ids with a space between them. */
static const char *ids_of(struct tokenizer_thread *thread, const char *text, uint64_t bytes, uint64_t max)
{
	static char printed[IDS_MAX * 8];
	int64_t id[IDS_MAX];
	const int64_t ids = tokenizer_encode(thread, text, bytes, id, max);
	char *at = printed;

	assert_in_range(ids, 0, IDS_MAX);
	*at = '\0';
	for (uint64_t i = 0; i < (uint64_t)ids && i < max; i++)
		at += sprintf(at, "%s%d", i ? " " : "", (int)id[i]);
	return printed;
}

struct known {
	const char *text, *ids;
};

/* Each text twice: the second time its words are known. */
static void expect_ids(const char *file, const struct known *known, size_t count)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = parse(file);
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = start(tokenizer);

	for (size_t i = 0; i < 2 * count; i++) {
		const struct known *one = &known[i % count];

		assert_string_equal(ids_of(thread, one->text, strlen(one->text), IDS_MAX), one->ids);
	}
}

static void wordpiece(void **state)
{
	static const struct known known[] = {
		{ "", "2 3" },
		{ "A film.", "2 5 6 11 3" },
		{ "films unwanted unwantable", "2 6 7 14 10 14 13 3" },
		{ "Caf\u00e9 cafe\u0301 CAFE", "2 15 15 15 3" },
		{ "\u4e2da", "2 12 5 3" },
		{ "a [MASK] a", "2 5 4 5 3" },
		{ "unwanted\u200b \x01"
		  "a\ta",
		  "2 14 10 5 5 3" },
		{ "aaaaaaaaaaa a", "2 1 5 3" },
		{ "ix \u0130", "2 1 18 3" },
		{ "a$a \ufffd", "2 5 16 5 3" },
		{ "a a a a a a a a a a a a", "2 5 5 5 5 5 5 5 5 5 5 3" },
		{ "a\xff", "2 5 3" }, /* no UTF-8: as U+FFFD, which BERT removes */
	};

	(void)state;
	expect_ids(WORDPIECE, known, sizeof(known) / sizeof(known[0]));
}

static void bpe_of_gpt2(void **state)
{
	static const struct known known[] = {
		{ "", "0" },
		{ "ab", "0 11" },
		{ "ab ab", "0 11 12" },
		{ "ab  ab", "0 11 3 12" },
		{ "  ", "0 17" },
		{ "aab", "0 1 11" },
		{ "aaab", "0 14 11" },
		{ "b's B", "0 2 15 3" },
		{ "111 1", "0 16 6 3 6" },
		{ "\u00e9", "0 13" },
		{ "!!\n\nab", "0 18 7 7 11" },
		{ "ab\n\n  ab", "0 11 19 3 12" },
		{ "</s>ab <s>", "0 21 11 3 0" },
		{ "a'S", "0 1 4" },
		{ "1111", "0 16 16" },
		{ "cab", "0 11" },
	};

	(void)state;
	expect_ids(BPE(GPT2), known, sizeof(known) / sizeof(known[0]));
}

static void bpe_of_roberta(void **state)
{
	static const struct known known[] = {
		{ "", "0" },
		{ "ab ab", "0 12 12" },
		{ "  ", "0 17" },
		{ "\u00e9", "0 3 13" },
		{ "</s>ab <s>", "0 21 12 3 0" },
	};

	(void)state;
	expect_ids(BPE(ROBERTA), known, sizeof(known) / sizeof(known[0]));
}

static void bpe_of_llama3(void **state)
{
	static const struct known known[] = {
		{ "!!\n\nab", "0 18 19 11" }, { "ab\n\n  ab", "0 11 19 3 12" },     { "1111", "0 16 6 6" },
		{ "!ab", "0 10 11" },         { "b's 111 1", "0 2 15 3 16 6 3 6" },
	};

	(void)state;
	expect_ids(BPE(LLAMA3), known, sizeof(known) / sizeof(known[0]));
}

static void a_limit_keeps_the_special_ids(void **state)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = parse(WORDPIECE);
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = start(tokenizer);
	const char *text = "a film a film";

	(void)state;
	assert_int_equal(tokenizer_size(tokenizer), 19);
	assert_int_equal(tokenizer_specials(tokenizer), 2);
	assert_string_equal(ids_of(thread, text, strlen(text), 4), "2 5 6 3");
	assert_int_equal(tokenizer_encode(thread, text, strlen(text), NULL, 0), 6);
}

/* Another limit takes the place of the file's, 12. */
static void a_file_may_be_cut_elsewhere(void **state)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = parse(WORDPIECE);
	const char *text = "a a a a a a a a a a a a";

	(void)state;
	tokenizer_cut_at(tokenizer, UINT64_MAX);
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = start(tokenizer);
	assert_int_equal(tokenizer_encode(thread, text, strlen(text), NULL, 0), 14);
	assert_string_equal(ids_of(thread, text, strlen(text), 13), "2 5 5 5 5 5 5 5 5 5 5 5 3");
}

static void white_space_may_stand_before_json(void **state)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = parse(" \r\n\t" WORDPIECE);

	(void)state;
	assert_int_equal(tokenizer_size(tokenizer), 19);
}

static void a_nul_is_a_character(void **state)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = parse(WORDPIECE);
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = start(tokenizer);

	(void)state;
	assert_string_equal(ids_of(thread, "a\0 film\xff a", 10, IDS_MAX), "2 5 6 5 3");
}

static void a_list_of_pieces(void **state)
{
	static const struct known known[] = {
		{ "Films unwant", "3 5 6 0 4" },
		{ "[MASK] film", "3 2 5 4" },
		{ "a film", "3 7 5 4" },
	};

	(void)state;
	expect_ids("[UNK]\n[PAD]\n[MASK]\n[CLS]\n[SEP]\nfilm\n##s\r\na\n", known,
		   sizeof(known) / sizeof(known[0]));
}

static void what_a_file_says_of_itself(void **state)
{
	CLEANUP(tokenizer_freep)
	struct tokenizer *pieces = parse("[UNK]\n[PAD]\n[CLS]\n[SEP]\n##s\na\n"),
			 *json = parse("{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":false,"
				       "\"handle_chinese_chars\":true},\"pre_tokenizer\":{\"type\":"
				       "\"BertPreTokenizer\"},\"added_tokens\":[],\"model\":{\"type\":"
				       "\"WordPiece\",\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##"
				       "\",\"vocab\":{\"u\":0}}}");
	struct tokenizer_normal normal = tokenizer_normal(pieces);

	(void)state;
	assert_int_equal(tokenizer_id(pieces, "[PAD]"), 1);
	assert_int_equal(tokenizer_id(pieces, "##s"), 4);
	assert_int_equal(tokenizer_id(pieces, "s"), TOKENIZER_ID_NONE);
	assert_true(normal.lower && normal.accents && normal.chinese);
	normal = tokenizer_normal(json);
	assert_true(!normal.lower && !normal.accents && normal.chinese);
}

static void refused(void **state)
{
	static const struct {
		const char *file, *words;
	} cases[] = {
		{ "{", "tokenizer.json" },
		{ "{\"extra\":1}", "tokenizer.json: extra: is not known" },
		{ "{\"normalizer\":{\"type\":\"NFC\"}}",
		  "normalizer.type: found \"NFC\", expected BertNormalizer" },
		{ "{\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", "pre_tokenizer.type: found \"Metaspace\"" },
		{ "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":false}}",
		  "pre_tokenizer.use_regex: found false" },
		{ "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{}]}}",
		  "pre_tokenizer.pretokenizers: found an array, expected two" },
		{ "{\"pre_tokenizer\":" GPT2 ",\"model\":{\"type\":\"Unigram\"}}",
		  "model.type: found \"Unigram\", expected WordPiece or BPE" },
		{ "{\"pre_tokenizer\":" GPT2
		  ",\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}}",
		  "model.dropout: found 0.1, expected null" },
		{ "{\"pre_tokenizer\":" GPT2 ",\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
		  "model.merges[0]: \"a\" and \"b\": found no id for the second in model.vocab" },
		{ "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"vocab\":{},\"merges\":[]}"
		  "}",
		  "pre_tokenizer: found an object, expected ByteLevel, because the model is BPE" },
		{ "{\"pre_tokenizer\":" GPT2 ",\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"added_"
		  "tokens\":[{\"id\":5,\"content\":\"x\"}]}",
		  "added_tokens[0].id: found 5, expected the first id behind model.vocab" },
		{ "", "vocab.txt: found no line \"[CLS]\"" },
		{ "[CLS]\n[SEP]\n[UNK]\n\n", "vocab.txt: line 4: found an empty line" },
		{ "[CLS]\n[SEP]\n[UNK]\na\na\n", "vocab.txt: line 5: \"a\" is there twice" },
		{ "[CLS]\nThe\n", "vocab.txt: line 2: found the capital letters of \"The\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = NULL;
		struct error err = { 0 };

		assert_int_equal(tokenizer_parse(cases[i].file, strlen(cases[i].file), &tokenizer, &err),
				 -EBADMSG);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wordpiece),
		cmocka_unit_test(bpe_of_gpt2),
		cmocka_unit_test(bpe_of_roberta),
		cmocka_unit_test(bpe_of_llama3),
		cmocka_unit_test(a_limit_keeps_the_special_ids),
		cmocka_unit_test(a_file_may_be_cut_elsewhere),
		cmocka_unit_test(white_space_may_stand_before_json),
		cmocka_unit_test(a_nul_is_a_character),
		cmocka_unit_test(a_list_of_pieces),
		cmocka_unit_test(what_a_file_says_of_itself),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
