/* SPDX-License-Identifier: Apache-2.0 */
/* model/view.h: which layers a view has, and what it draws. The draws themselves are those of the layers,
 * which ops_picture.c compares with their references. */
#include "model/view.h"

#include "tests/reference.h"
#include "tests/unit/config_fixture.h"

#include <unistd.h>

#define HEIGHT 5u
#define WIDTH  4u
#define PIXELS (HEIGHT * WIDTH * 3)
#define ROWS   16u

#define HEAD                                                                               \
	STORES "run: { batch_rows = 16; };\n"                                              \
	       "schema = ( { name = \"p\"; dtype = \"picture\"; shape = [ 5, 4, 3 ]; },\n" \
	       "           { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"   \
	       "model: { input = \"p\"; layers = ( "
#define TAIL "{ op = \"flatten\"; }, { op = \"dense\"; units = 2; }, { op = \"softmax\"; } ); };\n"
#define UNIT "{ op = \"rescaling\"; scale = 0.00392156862745098; offset = -0.5; }, "
#define FLIP "{ name = \"flip\"; op = \"random_flip\"; mode = \"vertical\"; }, "

static struct gpu *gpu;
static uint8_t pictures[2 * ROWS * PIXELS], seen[2 * ROWS * PIXELS];

static struct view *open_view(const char *layers, struct config *config)
{
	char text[4096];
	struct error err = { 0 };
	struct view *view = NULL;

	(void)snprintf(text, sizeof(text), "%s%s%s", HEAD, layers, TAIL);
	harness_must(load(text, strlen(text), config, &err), &err);
	harness_must(view_new(config, 0, (uint32_t)config->run.batch_rows, &view, &err), &err);
	harness_must(view_start(view, gpu, &err), &err);
	return view;
}

static void draw(struct view *view, const uint8_t *from, uint32_t rows, uint64_t step, uint64_t first_row,
		 uint8_t *to)
{
	struct error err = { 0 };

	harness_must(view_draw(view, from, rows, step, first_row, to, &err), &err);
}

static void test_layers(void **state)
{
	static const struct {
		const char *label, *layers, *last;
		uint32_t count;
		struct view_shape shape;
	} cases[] = {
		{ "no layer of pictures", "", "", 0, { 5, 4, 3 } },
		{ "one", FLIP, "flip", 1, { 5, 4, 3 } },
		{ "a crop",
		  UNIT FLIP "{ name = \"c\"; op = \"center_crop\"; height = 3; width = 2; }, ",
		  "c",
		  3,
		  { 3, 2, 3 } },
		{ "another layer ends them",
		  FLIP "{ op = \"relu\"; }, { op = \"random_flip\"; }, ",
		  "flip",
		  1,
		  { 5, 4, 3 } },
		{ "two readers end them",
		  FLIP "{ name = \"a\"; op = \"rescaling\"; scale = 2; inputs = [ \"flip\" ]; }, "
		       "{ name = \"b\"; op = \"rescaling\"; scale = 3; inputs = [ \"flip\" ]; }, "
		       "{ op = \"add\"; inputs = [ \"a\", \"b\" ]; }, ",
		  "flip",
		  1,
		  { 5, 4, 3 } },
		{ "a scale of 0 cannot be undone",
		  FLIP "{ op = \"rescaling\"; scale = 0; }, ",
		  "flip",
		  1,
		  { 5, 4, 3 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(config_done) struct config config = { 0 };
		CLEANUP(view_freep) struct view *view = open_view(cases[i].layers, &config);
		const struct view_shape shape = view_shape(view);

		if (view_layers(view) != cases[i].count ||
		    memcmp(&shape, &cases[i].shape, sizeof(shape)) != 0 ||
		    (cases[i].count && strcmp(view_layer(view, cases[i].count - 1), cases[i].last) != 0))
			fail_msg("%s: found %u layers, %u x %u", cases[i].label, view_layers(view),
				 shape.height, shape.width);
	}
}

static void test_without_change_the_pictures_stay(void **state)
{
	static const char *const layers[] = { "", UNIT, UNIT UNIT "{ op = \"rescaling\"; scale = -70; }, " };

	(void)state;
	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		CLEANUP(config_done) struct config config = { 0 };
		CLEANUP(view_freep) struct view *view = open_view(layers[i], &config);

		memset(seen, 0, sizeof(seen));
		draw(view, pictures, ROWS, 3, 7, seen);
		assert_memory_equal(seen, pictures, ROWS * PIXELS);
	}
}

static bool is_flipped(const uint8_t *found, const uint8_t *picture)
{
	for (uint32_t y = 0; y < HEIGHT; y++)
		if (memcmp(found + y * WIDTH * 3, picture + (HEIGHT - 1 - y) * WIDTH * 3, WIDTH * 3) != 0)
			return false;
	return true;
}

static void test_each_row_has_its_draw(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(view_freep) struct view *view = open_view(UNIT FLIP, &config);
	uint8_t *shifted = seen + ROWS * PIXELS;
	uint32_t flipped = 0;

	(void)state;
	draw(view, pictures, ROWS, 0, 0, seen);
	for (uint32_t row = 0; row < ROWS; row++) {
		const uint8_t *at = seen + row * PIXELS, *from = pictures + row * PIXELS;

		flipped += is_flipped(at, from);
		assert_true(is_flipped(at, from) || memcmp(at, from, PIXELS) == 0);
	}
	assert_in_range(flipped, 2, ROWS - 2);
	/* The draw of a row belongs to its index in the epoch, not to its place in the batch. */
	draw(view, pictures + 5 * PIXELS, 11, 0, 5, shifted);
	assert_memory_equal(shifted, seen + 5 * PIXELS, 11 * PIXELS);
	draw(view, pictures, ROWS, 1, 0, shifted);
	assert_memory_not_equal(shifted, seen, ROWS * PIXELS);
}

/* A view of few rows takes the memory of few, and draws them as one of the whole batch does. */
static void test_few_rows(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(view_freep) struct view *view = open_view(UNIT FLIP, &config), *few = NULL;
	uint8_t *of_few = seen + ROWS * PIXELS;
	struct error err = { 0 };

	(void)state;
	harness_must(view_new(&config, 0, 2, &few, &err), &err);
	harness_must(view_start(few, gpu, &err), &err);
	draw(view, pictures, 2, 0, 5, seen);
	draw(few, pictures, 2, 0, 5, of_few);
	assert_memory_equal(of_few, seen, 2 * PIXELS);
}

static void test_what_is_too_bright_is_cut(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(view_freep)
	struct view *view =
		open_view("{ op = \"random_brightness\"; factor = [ 0.9, 0.9 ]; value_range = [ 0, "
			  "1000 ]; }, ",
			  &config);

	(void)state;
	draw(view, pictures, 1, 0, 0, seen);
	for (uint32_t i = 0; i < PIXELS; i++)
		assert_int_equal(seen[i], 255);
}

static int leave_device(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_without_change_the_pictures_stay),
		cmocka_unit_test(test_each_row_has_its_draw),
		cmocka_unit_test(test_few_rows),
		cmocka_unit_test(test_what_is_too_bright_is_cut),
	};

	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 1;
	gpu = open_device();
	for (uint32_t i = 0; i < sizeof(pictures); i++)
		pictures[i] = (uint8_t)(i * 2654435761u >> 13);
	return cmocka_run_group_tests(tests, NULL, leave_device);
}
