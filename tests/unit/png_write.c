/* SPDX-License-Identifier: Apache-2.0 */
/* data/png_write.h: the files are read back by data/picture.h. */
#include "data/png_write.h"

#include "data/picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_files_have_the_pixels(void **state)
{
	static const struct picture_form forms[] = {
		{ .height = 7, .width = 5, .channels = 3, .pixels_max = 1000 },
		{ .height = 1, .width = 300, .channels = 1, .pixels_max = 1000 },
	};
	CLEANUP(picture_decoder_freep) struct picture_decoder *decoder = NULL;
	uint8_t pixels[512], found[512];
	struct error err = { 0 };

	(void)state;
	assert_int_equal(picture_decoder_new(&decoder, &err), 0);
	for (uint32_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i * 37);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct picture_form *form = &forms[i];
		CLEANUP(free_ptr) void *file = NULL;
		struct picture_head head;
		uint64_t bytes = 0;

		assert_int_equal(
			png_make(pixels, form->height, form->width, form->channels, &file, &bytes, &err), 0);
		assert_int_equal(picture_head(file, bytes, &head, &err), 0);
		assert_int_equal(head.format, PICTURE_PNG);
		assert_int_equal(head.channels, form->channels);
		assert_int_equal(
			picture_decode(decoder, form, (struct picture_place){ 0 }, file, bytes, found, &err),
			0);
		assert_memory_equal(found, pixels, (size_t)form->height * form->width * form->channels);
	}
}

static void test_no_pixels_are_refused(void **state)
{
	struct error err = { 0 };
	void *file = NULL;
	uint64_t bytes = 0;

	(void)state;
	assert_int_equal(png_make((const uint8_t *)"", 0, 5, 3, &file, &bytes, &err), -EIO);
	assert_non_null(strstr(err.text, "cannot make a PNG file: "));
	assert_null(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_have_the_pixels),
		cmocka_unit_test(test_no_pixels_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
