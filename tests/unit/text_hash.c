/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_hash.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char text[] =
	"Zürich is a town. 東京 is a city; a text that is longer than all of the short cases of the hash, "
	"and has more than 128 bytes in it, so that its loop turns twice or more.";

/* The bin of 2^63 - 1 that TensorFlow 2.16 puts the first bytes of the text into. */
struct known {
	uint64_t bytes, bin;
};

/* tf.strings.to_hash_bucket_fast(). The lengths are on both sides of each border between the cases of
 * FarmHash. */
static void fingerprints(void **state)
{
	static const struct known known[] = {
		{ 0, 1936946117179621456 },   { 1, 8225556516526081882 },   { 3, 8260820195895121013 },
		{ 4, 3297134782306445627 },   { 7, 4282268324657427643 },   { 8, 936728325176454597 },
		{ 12, 2241584583707089181 },  { 16, 7719954169785314861 },  { 17, 3555669455773744231 },
		{ 24, 4769167048271833235 },  { 32, 4321140840465335046 },  { 33, 6696951096788572405 },
		{ 48, 7221468466838160775 },  { 64, 5637851806603764688 },  { 65, 8688449450902995676 },
		{ 100, 6760157297047250247 }, { 128, 7292404120187672762 }, { 129, 2963115571272038337 },
		{ 160, 3652286118819832974 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(text_fingerprint(text, known[i].bytes) % INT64_MAX, known[i].bin);
}

/* tf.strings.to_hash_bucket_strong() with the key [ 133, 137 ]. */
static void siphashes(void **state)
{
	static const struct known known[] = {
		{ 0, 4928313950774450900 },  { 1, 6352741101807333986 },  { 7, 1999400566720290375 },
		{ 8, 1217844492661995910 },  { 9, 7341908144603623351 },  { 15, 1087866871359238383 },
		{ 16, 5901352732604545127 }, { 31, 1714636935353978745 }, { 63, 1388928380682856385 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(text_siphash(133, 137, text, known[i].bytes) % INT64_MAX, known[i].bin);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fingerprints), cmocka_unit_test(siphashes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
