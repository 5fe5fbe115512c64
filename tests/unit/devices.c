/* SPDX-License-Identifier: Apache-2.0 */
/* The note of the devices, with the two devices that PoCL shows of one machine, and a tree of sysfs made
 * here. */
#include "traind/devices.c" // NOLINT(bugprone-suspicious-include): its statics

#include "core/config/config.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *text_of(const cJSON *object, const char *key)
{
	const cJSON *item = json_member(object, key);

	return cJSON_IsString(item) ? item->valuestring : "null";
}

static cJSON *note_for(const char *id)
{
	const struct gpu_wish wish = { .platform = "portable", .type = DEVICE_CPU, .id = id };
	char path[PATH_BYTES];
	cJSON *note = NULL;

	assert_int_equal(path_make(path_of(PATH_STATUS, "traind", path), NULL), 0);
	devices_note(root, &wish);
	assert_int_equal(json_read(path_of(PATH_DEVICES, NULL, path), 65536, &note, NULL), 0);
	return note;
}

static void all_devices_are_noted(void **state)
{
	CLEANUP(json_free) cJSON *note = note_for("1");
	const cJSON *first = cJSON_GetArrayItem(note, 0), *second = cJSON_GetArrayItem(note, 1);

	(void)state;
	assert_int_equal(cJSON_GetArraySize(note), 2);
	assert_string_equal(text_of(first, "platform"), "Portable Computing Language");
	assert_string_equal(text_of(first, "type"), "cpu");
	assert_string_equal(text_of(first, "why"), "device.id is \"1\"");
	assert_string_equal(text_of(second, "why"), "null");
	assert_true(cJSON_IsTrue(json_member(second, "taken")) && cJSON_IsFalse(json_member(first, "taken")));
	assert_true(json_number(second, "index", -1) == 1);
	assert_true(json_number(second, "memory_bytes", 0) > 1e6);
	assert_string_equal(text_of(second, "pci"), "null");
	assert_string_equal(text_of(second, "link"), "null");
	assert_true(cJSON_IsNull(json_member(second, "numa_node")));
}

/* Nothing is taken, and the note says why. */
static void no_device_fits(void **state)
{
	CLEANUP(json_free) cJSON *note = note_for("no such device");
	const cJSON *device;

	(void)state;
	cJSON_ArrayForEach(device, note) {
		assert_true(cJSON_IsFalse(json_member(device, "taken")));
		assert_string_equal(text_of(device, "why"), "device.id is \"no such device\"");
	}
}

static void a_device_in_a_slot(void **state)
{
	static const struct gpu_listed device = { .name = "a GPU", .pci = "0000:81:00.0" };
	static const struct {
		const char *file, *text;
	} files[] = { { "current_link_speed", "2.5 GT/s PCIe\n" },
		      { "max_link_speed", "32.0 GT/s PCIe\n" },
		      { "current_link_width", "16\n" },
		      { "max_link_width", "16\n" },
		      { "numa_node", "1\n" } };
	const struct gpu_verdict verdict = { .why = "a reason" };
	CLEANUP(json_free) cJSON *object = NULL;
	char folder[PATH_BYTES - 64], path[PATH_BYTES];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/sys/bus/pci/devices/%s", root, device.pci);
	assert_int_equal(path_make(folder, NULL), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i].file);
		assert_int_equal(file_write_durable(path, files[i].text, strlen(files[i].text), NULL), 0);
	}
	object = describe(root, &device, &verdict);
	assert_string_equal(text_of(object, "link"), "x16 of x16, 2.5 GT/s PCIe of 32.0 GT/s PCIe");
	assert_true(json_number(object, "numa_node", -1) == 1);
	assert_true(cJSON_IsNull(json_member(object, "index")));
	assert_string_equal(text_of(object, "type"), "gpu");
	assert_string_equal(text_of(object, "why"), "a reason");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_devices_are_noted),
		cmocka_unit_test(no_device_fits),
		cmocka_unit_test(a_device_in_a_slot),
	};

	(void)setenv("POCL_DEVICES", "pthread basic", 1);
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
