/* SPDX-License-Identifier: Apache-2.0 */
/* Which device is meant, on a list of devices as boxes with several GPUs have it; and where a GPU is, on a
 * tree of sysfs made here. */
#include "core/base/paths.h"
#include "core/config/config.h"
#include "drivers/cores/cores.h"
#include "drivers/gpu/place.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The GPU at 0000:3b:00.0 is on the list twice: by its maker's driver, and by Mesa. */
static const struct gpu_listed list[] = {
	{ .platform = "NVIDIA CUDA",
	  .name = "NVIDIA A100-SXM4-80GB",
	  .pci = "0000:07:00.0",
	  .uuid = "5f1b7a3c00112233445566778899aabb" },
	{ .platform = "NVIDIA CUDA",
	  .name = "NVIDIA A100-SXM4-80GB",
	  .pci = "0001:0a:00.0",
	  .uuid = "0000000000000000000000000000000a" },
	{ .platform = "AMD Accelerated Parallel Processing", .name = "gfx90a", .pci = "0000:3b:00.0" },
	{ .platform = "rusticl", .name = "AMD Instinct MI210", .pci = "0000:3b:00.0" },
	{ .platform = "Portable Computing Language", .name = "pthread-haswell", .cpu = true },
};
#define LISTED (sizeof(list) / sizeof(list[0]))

/* The verdict on each device, "taken" or why not, after the number that device.id may have. */
static const struct {
	const char *platform;
	int type;
	const char *id;
	const char *verdicts[LISTED];
	unsigned slot;
} judged[] = {
	{ .platform = "auto",
	  .type = DEVICE_AUTO,
	  .id = "auto",
	  .verdicts = { "0 taken", "1 device.id is \"auto\", which takes the first",
			"2 device.id is \"auto\", which takes the first",
			"3 device.id is \"auto\", which takes the first",
			"4 device.id is \"auto\", which takes the first, a GPU where there is one" } },
	{ .platform = "cuda",
	  .id = "auto",
	  .slot = 1,
	  .verdicts = { "0 device.id is \"auto\", and this trial is in slot 1", "1 taken",
			"- device.platform is \"cuda\"", "- device.platform is \"cuda\"",
			"- device.platform is \"cuda\"" } },
	{ .platform = "cuda",
	  .type = DEVICE_AUTO,
	  .id = "1",
	  .verdicts = { "0 device.id is \"1\"", "1 taken", "- device.platform is \"cuda\"",
			"- device.platform is \"cuda\"", "- device.platform is \"cuda\"" } },
	{ .platform = "auto",
	  .type = DEVICE_CPU,
	  .id = "auto",
	  .verdicts = { "- device.type is \"cpu\"", "- device.type is \"cpu\"", "- device.type is \"cpu\"",
			"- device.type is \"cpu\"", "0 taken" } },
	{ .platform = "auto",
	  .type = DEVICE_GPU,
	  .id = "a100",
	  .verdicts = { "0 device.id is \"a100\", which fits other devices, too",
			"1 device.id is \"a100\", which fits other devices, too", "2 device.id is \"a100\"",
			"3 device.id is \"a100\"", "- device.type is \"gpu\"" } },
};

static const struct {
	const char *platform;
	int type;
	const char *id;
	unsigned index; /* LISTED: none */
	const char *words;
} cases[] = {
	{ "auto", DEVICE_AUTO, "auto", 0, NULL },
	{ "auto", DEVICE_CPU, "auto", 4, NULL },
	{ "portable", DEVICE_AUTO, "auto", 4, NULL },
	{ "amd", DEVICE_GPU, "auto", 2, NULL },
	{ "portable", DEVICE_GPU, "auto", LISTED,
	  "no device of OpenCL 1.2 and type 'gpu' on platform 'portable'" },
	/* indices count the devices of the platform and type */
	{ "auto", DEVICE_AUTO, "0", 0, NULL },
	{ "auto", DEVICE_AUTO, "1", 1, NULL },
	{ "auto", DEVICE_AUTO, "4", 4, NULL },
	{ "cuda", DEVICE_AUTO, "1", 1, NULL },
	{ "rusticl", DEVICE_AUTO, "0", 3, NULL },
	{ "auto", DEVICE_CPU, "0", 4, NULL },
	{ "cuda", DEVICE_AUTO, "2", LISTED, "no device fits \"2\"" },
	{ "auto", DEVICE_GPU, "4", LISTED, "no device fits \"4\"" },
	/* PCI addresses */
	{ "auto", DEVICE_AUTO, "0000:07:00.0", 0, NULL },
	{ "auto", DEVICE_AUTO, "07:00.0", 0, NULL },
	{ "auto", DEVICE_AUTO, "0001:0A:00.0", 1, NULL },
	{ "auto", DEVICE_AUTO, "00000000:07:00.0", 0, NULL },
	{ "auto", DEVICE_AUTO, "00000001:0A:00.0", 1, NULL },
	{ "auto", DEVICE_AUTO, "00010000:07:00.0", LISTED, "no device fits" },
	{ "auto", DEVICE_AUTO, "0a:00.0", LISTED, "no device fits \"0a:00.0\"" },
	{ "auto", DEVICE_AUTO, "3b:00.0", LISTED,
	  "fits 2 devices, expected one of: 0: NVIDIA CUDA: NVIDIA A100" },
	{ "rusticl", DEVICE_AUTO, "3b:00.0", 3, NULL },
	{ "auto", DEVICE_AUTO, "07:00.1", LISTED, "no device fits" },
	{ "auto", DEVICE_AUTO, "07:00.0 ", LISTED, "no device fits" },
	/* UUIDs, as nvidia-smi and clinfo print them */
	{ "auto", DEVICE_AUTO, "GPU-5f1b7a3c-0011-2233-4455-66778899aabb", 0, NULL },
	{ "auto", DEVICE_AUTO, "5F1B7A3C-0011-2233-4455-66778899AABB", 0, NULL },
	{ "auto", DEVICE_AUTO, "0000000000000000000000000000000a", 1, NULL },
	{ "auto", DEVICE_AUTO, "00000000-0000-0000-0000-000000000000", LISTED, "no device fits" },
	/* names */
	{ "auto", DEVICE_AUTO, "mi210", 3, NULL },
	{ "auto", DEVICE_AUTO, "GFX90A", 2, NULL },
	{ "auto", DEVICE_AUTO, "haswell", 4, NULL },
	{ "auto", DEVICE_GPU, "haswell", LISTED, "no device fits \"haswell\"" },
	{ "auto", DEVICE_AUTO, "A100", LISTED, "device.id: \"A100\" fits 2 devices" },
	{ "auto", DEVICE_AUTO, "", LISTED, "fits 5 devices" },
	{ "auto", DEVICE_AUTO, "-1", LISTED, "no device fits \"-1\"" },
	{ "auto", DEVICE_AUTO, "H100", LISTED,
	  "there are: 0: NVIDIA CUDA: NVIDIA A100-SXM4-80GB, PCI 0000:07:00.0, UUID "
	  "5f1b7a3c00112233445566778899aabb; 1: " },
};

static void the_device_that_is_meant(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct gpu_wish wish = { cases[i].platform, cases[i].type, cases[i].id, 0, 0 };
		struct error err = { 0 };
		unsigned index = LISTED;
		int r = gpu_choose(list, LISTED, &wish, &index, &err);

		print_message("# %s %d %s: %s\n", wish.platform, wish.type, wish.id, err.text);
		assert_int_equal(index, cases[i].index);
		assert_int_equal(r, !cases[i].words ? 0
				    : strstr(cases[i].words, "fits ") && !strstr(cases[i].words, "no device")
					    ? -EINVAL
					    : -ENODEV);
		if (cases[i].words)
			assert_non_null(strstr(err.text, cases[i].words));
	}
}

/* Trials side by side: each slot has a device of its own, and so has each rank, of the type that slot 0 has.
 * A GPU that two drivers list is one device. */
static void devices_of_slots(void **state)
{
	static const struct {
		const char *platform;
		int type;
		const char *id;
		unsigned usable, slot, rank, index; /* LISTED: none */
	} slots[] = {
		{ "auto", DEVICE_AUTO, "auto", 3, 0, 0, 0 },
		{ "auto", DEVICE_AUTO, "auto", 3, 2, 0, 2 },
		{ "rusticl", DEVICE_AUTO, "auto", 1, 0, 0, 3 },
		{ "auto", DEVICE_AUTO, "auto", 3, 3, 0, LISTED },
		{ "auto", DEVICE_CPU, "auto", 1, 0, 0, 4 },
		{ "auto", DEVICE_CPU, "auto", 1, 1, 0, LISTED },
		{ "nvidia", DEVICE_AUTO, "auto", 2, 1, 0, 1 },
		{ "nvidia", DEVICE_AUTO, "auto", 2, 2, 0, LISTED },
		{ "auto", DEVICE_AUTO, "1", 1, 5, 0, 1 },
		{ "auto", DEVICE_AUTO, "A100", 0, 0, 0, LISTED },
		{ "auto", DEVICE_AUTO, "auto", 3, 0, 2, 2 },
		{ "auto", DEVICE_AUTO, "auto", 3, 1, 1, 2 },
		{ "auto", DEVICE_AUTO, "auto", 3, 0, 3, LISTED },
		{ "auto", DEVICE_CPU, "auto", 1, 0, 3, 4 }, /* ranks share a CPU */
		{ "no such platform", DEVICE_AUTO, "auto", 0, 0, 0, LISTED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		const struct gpu_wish wish = { slots[i].platform, slots[i].type, slots[i].id, slots[i].slot,
					       slots[i].rank };
		unsigned index = LISTED;

		print_message("# %s %d %s, slot %u, rank %u\n", wish.platform, wish.type, wish.id, wish.slot,
			      wish.rank);
		assert_int_equal(gpu_usable(list, LISTED, &wish), slots[i].usable);
		assert_int_equal(gpu_choose(list, LISTED, &wish, &index, NULL) == 0,
				 slots[i].index != LISTED);
		assert_int_equal(index, slots[i].index);
	}
}

static void no_device_at_all(void **state)
{
	const struct gpu_wish wish = { "auto", DEVICE_AUTO, "0", 0, 0 };
	struct error err = { 0 };
	unsigned index;

	(void)state;
	assert_int_equal(gpu_choose(NULL, 0, &wish, &index, &err), -ENODEV);
	assert_non_null(strstr(err.text, "there are: none"));
}

static void why_the_others_are_passed_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
		for (unsigned device = 0; device < LISTED; device++) {
			const struct gpu_wish wish = { judged[i].platform, judged[i].type, judged[i].id,
						       judged[i].slot, 0 };
			const struct gpu_verdict verdict = gpu_judge(list, LISTED, device, &wish);
			char text[GPU_WHY_BYTES + 16];

			(void)snprintf(text, sizeof(text), "%u %s", verdict.index,
				       verdict.taken ? "taken" : verdict.why);
			if (!verdict.candidate)
				*text = '-';
			assert_string_equal(text, judged[i].verdicts[device]);
		}
}

/* An old driver before a new one: no wish takes it, and it has no index. */
static void an_old_driver(void **state)
{
	static const struct gpu_listed two[] = { { .platform = "Clover", .name = "old", .too_old = true },
						 { .platform = "rusticl", .name = "new" } };
	const struct gpu_wish wish = { .platform = "auto", .type = DEVICE_GPU, .id = "0" };
	struct gpu_verdict verdict = gpu_judge(two, 2, 0, &wish);
	unsigned index = 9;

	(void)state;
	assert_int_equal(gpu_choose(two, 2, &wish, &index, NULL), 0);
	assert_int_equal(index, 1);
	assert_false(verdict.taken || verdict.candidate);
	assert_string_equal(verdict.why, "its OpenCL is older than 1.2");
	assert_true(gpu_judge(two, 2, 1, &wish).taken);
}

/* A list longer than the text of an error. */
static void many_devices(void **state)
{
	static struct gpu_listed many[GPU_LISTED_MAX];
	const struct gpu_wish wish = { "auto", DEVICE_AUTO, "x", 0, 0 };
	struct error err = { 0 };
	unsigned index;

	(void)state;
	for (unsigned i = 0; i < GPU_LISTED_MAX; i++) {
		memset(many[i].platform, 'p', GPU_NAME_BYTES - 1);
		memset(many[i].name, 'x', GPU_NAME_BYTES - 1);
	}
	assert_int_equal(gpu_choose(many, GPU_LISTED_MAX, &wish, &index, &err), -EINVAL);
	assert_non_null(strstr(err.text, "fits 64 devices"));
}

/* ---- The place ---- */

static void put(const char *device, const char *file, const char *text)
{
	char path[PATH_BYTES], folder[PATH_BYTES];

	(void)snprintf(folder, sizeof(folder), "%s/sys/bus/pci/devices/%s", root, device);
	(void)snprintf(path, sizeof(path), "%.*s/%s", (int)sizeof(folder) - 32, folder, file);
	assert_int_equal(path_make(folder, NULL), 0);
	assert_int_equal(file_write_durable(path, text, strlen(text), NULL), 0);
}

static void put_device(const char *device, const char *class, const char *vendor, const char *cores)
{
	put(device, "class", class);
	put(device, "vendor", vendor);
	put(device, "local_cpulist", cores);
}

/* A box with two sockets: the screen of its management controller and a network interface on the first. */
static void put_box(void)
{
	put_device("0000:01:00.0", "0x030000\n", "0x1a03\n", "0-7\n");
	put_device("0000:02:00.0", "0x020000\n", "0x8086\n", "0-7\n");
}

static void assert_place(int type, const char *id, const char *expected)
{
	const struct gpu_wish wish = { "auto", type, id, 0, 0 };
	char text[64] = "";
	cpu_set_t cores;

	if (gpu_place(root, &wish, &cores))
		cores_text(&cores, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* The first core of each node. */
static void put_nodes(void)
{
	put("../../../devices/system/node/node0", "cpu0", "");
	put("../../../devices/system/node/node1", "cpu8", "");
}

static void assert_ring_node(int expected)
{
	const struct gpu_wish wish = { "auto", DEVICE_AUTO, "auto", 0, 0 };
	cpu_set_t network;

	CPU_ZERO(&network);
	CPU_SET(0, &network);
	assert_int_equal(gpu_ring_node(root, &wish, &network), expected);
}

static void the_node_of_the_gpu(void **state)
{
	(void)state;
	put_box();
	put_nodes();
	assert_place(DEVICE_AUTO, "auto", "");
	assert_ring_node(0);
	put_device("0000:81:00.0", "0x030200\n", "0x10de\n", "8-15\n");
	assert_place(DEVICE_AUTO, "auto", "8-15");
	assert_ring_node(1);
	assert_place(DEVICE_GPU, "0", "8-15");
	assert_place(DEVICE_CPU, "auto", "");
	put_device("0000:82:00.0", "0x120000\n", "0x1002\n", "8-15\n");
	assert_place(DEVICE_AUTO, "auto", "8-15");
	put_device("0000:03:00.0", "0x030200\n", "0x10de\n", "0-7\n");
	assert_place(DEVICE_AUTO, "auto", "");
	assert_place(DEVICE_AUTO, "82:00.0", "8-15");
	assert_place(DEVICE_AUTO, "0000:03:00.0", "0-7");
	assert_place(DEVICE_AUTO, "04:00.0", "");
}

static void how_it_is_plugged_in(void **state)
{
	struct gpu_link link;

	(void)state;
	put("0000:81:00.0", "current_link_speed", "2.5 GT/s PCIe\n");
	put("0000:81:00.0", "max_link_speed", "32.0 GT/s PCIe\n");
	put("0000:81:00.0", "current_link_width", "8\n");
	put("0000:81:00.0", "max_link_width", "16\n");
	put("0000:81:00.0", "numa_node", "1\n");
	gpu_link(root, "0000:81:00.0", &link);
	assert_string_equal(link.speed, "2.5 GT/s PCIe");
	assert_string_equal(link.speed_max, "32.0 GT/s PCIe");
	assert_string_equal(link.width, "8");
	assert_string_equal(link.width_max, "16");
	assert_int_equal(link.node, 1);
	put("0000:82:00.0", "numa_node", "-1\n");
	gpu_link(root, "0000:82:00.0", &link);
	assert_string_equal(link.speed, "");
	assert_int_equal(link.node, -1);
	gpu_link(root, "", &link);
	assert_int_equal(link.node, -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_device_that_is_meant),
		cmocka_unit_test(devices_of_slots),
		cmocka_unit_test(no_device_at_all),
		cmocka_unit_test(many_devices),
		cmocka_unit_test(why_the_others_are_passed_over),
		cmocka_unit_test(an_old_driver),
		cmocka_unit_test_setup_teardown(the_node_of_the_gpu, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(how_it_is_plugged_in, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
