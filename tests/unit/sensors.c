/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a hwmon class made here, because real machines differ in their sensors. */
#include "drivers/sensors/heat.h"
#include "drivers/sensors/memory.h"

#include "core/base/paths.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/kiln-sensors-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[PATH_BYTES], folder[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	assert_int_equal(path_make(folder, NULL), 0);
	assert_int_equal(file_write_durable(path, text, strlen(text), NULL), 0);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s/* && mkdir -p %s", root, root);
	return system(command); /* NOLINT(cert-env33-c): a test's own folder */
}

static void note(void *context, const struct sensors_reading *reading)
{
	char *said = context;

	(void)snprintf(said + strlen(said), 512 - strlen(said), "%s %d %.1f %.0f %.0f;", reading->name,
		       (int)reading->component, reading->celsius,
		       isnan(reading->max_celsius) ? -1 : reading->max_celsius,
		       isnan(reading->critical_celsius) ? -1 : reading->critical_celsius);
}

static void what_the_kernel_says(void **state)
{
	char said[512] = "";

	(void)state;
	sensors_temperatures(root, note, said);
	assert_string_equal(said, "");
	put("hwmon0/name", "coretemp\n");
	put("hwmon0/temp1_input", "45500\n");
	put("hwmon0/temp1_label", "Package id 0\n");
	put("hwmon0/temp1_max", "80000\n");
	put("hwmon0/temp1_crit", "100000\n");
	put("hwmon0/temp2_input", "-3000\n");
	put("hwmon0/temp2_crit", "0\n");
	put("hwmon0/temp3_input", "not a number\n");
	put("hwmon0/temp4_input", "");
	put("hwmon1/name", "amdgpu\n");
	put("hwmon1/temp1_input", "61000\n");
	put("hwmon1/temp1_label", "edge\n");
	put("hwmon1/temp1_crit", "97000\n");
	put("hwmon2/name", "nct6775\n");
	put("hwmon2/temp1_input", "31000\n");
	put("hwmon2/temp1_max", "255500\n");
	put("hwmon3/name", "k10temp\n");
	put("hwmon3/temp1_input", "70000\n");
	put("hwmon3/temp1_label", "Tctl\n");
	put("hwmon4/name", "k10temp\n");
	put("hwmon4/temp1_input", "90000\n");
	put("hwmon4/temp1_label", "Tctl\n");
	put("hwmon4/temp2_input", "63000\n");
	put("hwmon4/temp2_label", "Tdie\n");
	sensors_temperatures(root, note, said);
	assert_string_equal(said, "coretemp Package id 0 1 45.5 80 100;coretemp temp2 1 -3.0 -1 -1;"
				  "amdgpu edge 2 61.0 -1 97;nct6775 temp1 0 31.0 -1 -1;"
				  "k10temp Tctl 1 70.0 -1 100;"
				  "k10temp Tctl 1 90.0 -1 -1;k10temp Tdie 1 63.0 -1 100;");
}

/* ---- The rule ---- */

#define CPU(now, max, crit)                        \
	{                                          \
		"cpu", SENSORS_CPU, now, max, crit \
	}
#define GPU(now, max, crit)                        \
	{                                          \
		"gpu", SENSORS_GPU, now, max, crit \
	}

static const struct {
	const char *label;
	struct heat_limits cpu, gpu;
	struct sensors_reading readings[2];
	enum heat_level level;
	const char *sensor;
	double limit;
} passes[] = {
	{ "no sensor says a limit",
	  { 0, 0 },
	  { 0, 0 },
	  { CPU(99, NAN, NAN), GPU(99, NAN, NAN) },
	  HEAT_FINE,
	  "",
	  0 },
	{ "below", { 0, 0 }, { 0, 0 }, { CPU(94.9, 80, 100), GPU(94, NAN, 100) }, HEAT_FINE, "", 0 },
	{ "5 below critical",
	  { 0, 0 },
	  { 0, 0 },
	  { CPU(95, 80, 100), GPU(20, NAN, 100) },
	  HEAT_HOT,
	  "cpu",
	  95 },
	{ "a GPU's maximum", { 0, 0 }, { 0, 0 }, { CPU(20, 80, 100), GPU(87, 87, 95) }, HEAT_HOT, "gpu", 87 },
	{ "a GPU's maximum alone",
	  { 0, 0 },
	  { 0, 0 },
	  { CPU(20, 80, 100), GPU(87, 87, NAN) },
	  HEAT_HOT,
	  "gpu",
	  87 },
	{ "the worse of two",
	  { 0, 0 },
	  { 0, 0 },
	  { CPU(96, 80, 100), GPU(89, 87, 95) },
	  HEAT_HOT,
	  "gpu",
	  87 },
	{ "as configured",
	  { 60, 0 },
	  { 0, 0 },
	  { CPU(60, 80, 100), GPU(20, NAN, 100) },
	  HEAT_HOT,
	  "cpu",
	  60 },
	{ "one component alone",
	  { 60, 0 },
	  { 0, 0 },
	  { CPU(20, 80, 100), GPU(70, NAN, 100) },
	  HEAT_FINE,
	  "",
	  0 },
	{ "out of reach: off",
	  { 150, 150 },
	  { 0, 0 },
	  { CPU(120, 80, 100), GPU(70, NAN, 100) },
	  HEAT_FINE,
	  "",
	  0 },
	{ "critical once",
	  { 0, 0 },
	  { 0, 0 },
	  { CPU(100, 80, 100), GPU(20, NAN, 100) },
	  HEAT_HOT,
	  "cpu",
	  100 },
	{ "critical by the configuration",
	  { 0, 70 },
	  { 0, 0 },
	  { CPU(71, 80, 100), GPU(20, NAN, 100) },
	  HEAT_HOT,
	  "cpu",
	  70 },
	{ "another component's sensor",
	  { 1, 1 },
	  { 1, 1 },
	  { { "disk", SENSORS_OTHER, 99, 80, 85 }, { "x", SENSORS_OTHER, 99, 1, 2 } },
	  HEAT_FINE,
	  "",
	  0 },
};

static void pass_over(const struct heat_limits limits[static SENSORS_COMPONENTS],
		      const struct sensors_reading *readings, size_t count, struct heat_state *state)
{
	struct heat_pass pass = { .limits = limits, .before = state };

	for (size_t i = 0; i < count; i++)
		heat_pass_each(&pass, &readings[i]);
	heat_pass_end(&pass, state);
}

static void the_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		const struct heat_limits limits[SENSORS_COMPONENTS] = {
			[SENSORS_CPU] = passes[i].cpu, [SENSORS_GPU] = passes[i].gpu
		};
		struct heat_state now = { 0 };

		print_message("# %s\n", passes[i].label);
		pass_over(limits, passes[i].readings, 2, &now);
		assert_int_equal(now.level, passes[i].level);
		assert_string_equal(now.reading.name, passes[i].sensor);
		assert_true(now.limit_celsius == passes[i].limit);
	}
}

/* Readings of one sensor with limits of 95 and 100, one after the other, and the verdict for each. */
static void a_sequence(void **state)
{
	static const struct {
		double celsius;
		enum heat_level level;
	} steps[] = {
		{ 94, HEAT_FINE },      { 95, HEAT_HOT },  { 91, HEAT_HOT },
		{ 90.1, HEAT_HOT },     { 90, HEAT_FINE }, { 94, HEAT_FINE },
		{ 100, HEAT_HOT },      { 101, HEAT_HOT }, { 99, HEAT_HOT }, /* not three in a row */
		{ 100, HEAT_HOT },      { 100, HEAT_HOT }, { 100, HEAT_CRITICAL },
		{ 104, HEAT_CRITICAL }, { 96, HEAT_HOT },  { 20, HEAT_FINE },
	};
	static const struct heat_limits limits[SENSORS_COMPONENTS];
	struct heat_state now = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct sensors_reading reading = CPU(steps[i].celsius, 80, 100);

		print_message("# %zu: %.1f\n", i, reading.celsius);
		pass_over(limits, &reading, 1, &now);
		assert_int_equal(now.level, steps[i].level);
	}
}

/* ---- The thread ---- */

static bool becomes(struct heat *heat, enum heat_level level, struct heat_state *ret_state)
{
	for (int i = 0; i < 3000; i++) {
		heat_get(heat, ret_state);
		if (ret_state->level == level)
			return true;
		(void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

static char unlimited[128]; /* written by the thread, read after the thread has ended */

static void note_unlimited(void *context, const struct sensors_reading *reading)
{
	(void)context;
	(void)snprintf(unlimited + strlen(unlimited), sizeof(unlimited) - strlen(unlimited), "%s;",
		       reading->name);
}

static atomic_uint passes_done;

static void note_pass(void)
{
	/* relaxed: only the count matters. */
	atomic_fetch_add_explicit(&passes_done, 1, memory_order_relaxed);
}

static void the_thread(void **state)
{
	static const struct heat_limits limits[SENSORS_COMPONENTS];
	struct heat *heat = NULL;
	struct heat_state now;

	(void)state;
	put("hwmon0/name", "k10temp\n");
	put("hwmon0/temp1_label", "Tctl\n");
	put("hwmon0/temp1_input", "96000\n");
	put("hwmon0/temp1_crit", "100000\n");
	put("hwmon1/name", "amdgpu\n");
	put("hwmon1/temp1_input", "96000\n");
	put("hwmon2/name", "nvme\n");
	put("hwmon2/temp1_input", "40000\n");
	heat_get(NULL, &now);
	assert_int_equal(now.level, HEAT_FINE);
	assert_int_equal(heat_open(root, limits, note_unlimited, note_pass, &heat, NULL), 0);
	assert_true(becomes(heat, HEAT_HOT, &now));
	assert_string_equal(now.reading.name, "k10temp Tctl");
	assert_true(now.reading.celsius == 96 && now.limit_celsius == 95);
	put("hwmon0/temp1_input", "40000\n");
	assert_true(becomes(heat, HEAT_FINE, &now));
	heat_closep(&heat);
	assert_true(atomic_load_explicit(&passes_done, memory_order_relaxed) >=
		    2); /* relaxed: the thread is gone */
	assert_null(heat);
	assert_string_equal(unlimited, "amdgpu temp1;"); /* once, and for no other sensor */
	heat_closep(&heat);
}

/* ---- Errors in the memory of GPUs ---- */

static char grown[256];

static void note_grown(void *context, const char *gpu, uint64_t errors)
{
	(void)context;
	(void)snprintf(grown + strlen(grown), sizeof(grown) - strlen(grown), "%s +%u;", gpu,
		       (unsigned)errors);
}

static void add_card(const char *card, const char *pci)
{
	char target[PATH_BYTES], path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "drm/%s/name", card);
	put(path, "");
	(void)snprintf(target, sizeof(target), "../../devices/pci0000:00/%s", pci);
	(void)snprintf(path, sizeof(path), "devices/pci0000:00/%s/vendor", pci);
	put(path, "0x1002\n");
	(void)snprintf(path, sizeof(path), "%s/drm/%s/device", root, card);
	assert_int_equal(symlink(target, path), 0);
}

#define RAS "devices/pci0000:00/0000:03:00.0/ras/"

static void memory_of_gpus(void **state)
{
	struct memory_state memory = { 0 };
	char drm[PATH_BYTES];

	(void)state;
	(void)snprintf(drm, sizeof(drm), "%s/drm", root);
	add_card("card0", "0000:00:02.0"); /* without counters */
	add_card("card1", "0000:03:00.0");
	put(RAS "umc_err_count", "ue: 2\nce: 5\nde: 0\n");
	put(RAS "gfx_err_count", "ue: 0\nce: 0\n");
	memory_pass(&memory, drm, note_grown);
	assert_int_equal(memory.gpus, 1);
	assert_string_equal(memory.gpu[0].name, "0000:03:00.0");
	assert_string_equal(grown, ""); /* what was there before */
	put(RAS "umc_err_count", "ue: 2\nce: 9\nde: 0\n");
	memory_pass(&memory, drm, note_grown);
	assert_string_equal(grown, ""); /* corrected */
	put(RAS "umc_err_count", "ue: 3\nce: 9\nde: 0\n");
	put(RAS "gfx_err_count", "ue: 4\nce: 0\n");
	memory_pass(&memory, drm, note_grown);
	assert_string_equal(grown, "0000:03:00.0 +5;");
	put(RAS "umc_err_count", "Query currently inaccessible\n"); /* while the GPU is reset */
	put(RAS "gfx_err_count", "ue: 0\nce: 0\n");
	memory_pass(&memory, drm, note_grown);
	put(RAS "gfx_err_count", "ue: 1\nce: 0\n"); /* counted anew after the reset */
	memory_pass(&memory, drm, note_grown);
	assert_string_equal(grown, "0000:03:00.0 +5;0000:03:00.0 +1;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_the_kernel_says, remove_root),
		cmocka_unit_test(the_rule),
		cmocka_unit_test(a_sequence),
		cmocka_unit_test_teardown(the_thread, remove_root),
		cmocka_unit_test_teardown(memory_of_gpus, remove_root),
	};

	return cmocka_run_group_tests(tests, make_root, NULL);
}
