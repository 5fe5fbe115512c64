/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the kernel's log, as the drivers of GPUs write them. */
#include "drivers/gpu/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *line, *device; /* device NULL: no fault */
	uint64_t xid;
	const char *text, *advice; /* the starts of both */
} lines[] = {
	/* NVIDIA: examples of its documentation and of the sources of its open kernel module */
	{ "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
	  "0000:3b:00", 79, "pid='<unknown>', name=<unknown>, GPU has fallen",
	  "restart the machine, and look" },
	{ "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, "
	  "D-RST: No",
	  "0000:01:00", 94, "pid=7194, Contained", "the trainer starts again by itself; restart" },
	{ "NVRM: Xid (PCI:0000:01:00): 95, pid=7062, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",
	  "0000:01:00", 95, "pid=7062, Uncontained", "reset the GPU with" },
	{ "NVRM: Xid (0000:03:00): 14, Channel 00000001", NULL, 0, NULL, NULL },
	{ "NVRM: Xid (0000:03:00): 13, Graphics Exception: ESR 0x505730=0xc02000e", "0000:03:00", 13,
	  "Graphics Exception", "the trainer starts again" },
	{ "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu "
	  "to activate.",
	  "0000:10:1c", 63, "pid=1896, Row Remapper", "restart the machine when it has nothing to do" },
	{ "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and "
	  "Reset)",
	  "0009:01:00", 154, "GPU recovery action changed", "do what the message says" },
	{ "NVRM: Xid (PCI:0000:3b:00): 45, pid=1234, name=kiln-traind, Ch 00000008", NULL, 0, NULL, NULL },
	{ "NVRM: Xid (PCI:0000:3b:00): 999, something new", "0000:3b:00", 999, "something new",
	  "look the number up in NVIDIA's Xid catalog" },
	{ "NVRM: GPU at PCI:0000:03:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7", NULL, 0, NULL, NULL },
	{ "NVRM: Xid (PCI:0000:3b:00)", NULL, 0, NULL, NULL },
	{ "NVRM: Xid (PCI:0000:3b:00): x", NULL, 0, NULL, NULL },
	{ "NVRM: Xid (", NULL, 0, NULL, NULL },
	{ "NVRM: Xid (PCI:0123456789012345678901234567890123456789): 79, x", NULL, 0, NULL, NULL },
	/* AMD */
	{ "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!", "0000:03:00.0", 0, "GPU reset begin!",
	  "the trainer starts again by itself; if" },
	{ "amdgpu 0000:21:00.0: GPU reset begin!", "0000:21:00.0", 0, "GPU reset begin!", "the trainer" },
	{ "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!. Source:  4", "0000:03:00.0", 0,
	  "GPU reset begin!. S", "the trainer" },
	{ "amdgpu 0000:03:00.0: amdgpu: GPU reset(1) failed with error -110", "0000:03:00.0", 0,
	  "GPU reset(1) failed", "restart the machine" },
	{ "amdgpu 0000:03:00.0: amdgpu: GPU reset(1) succeeded!", NULL, 0, NULL, NULL },
	{ "amdgpu 0000:de:00.0: amdgpu: socket: 0 2 uncorrectable hardware errors detected in gfx block",
	  "0000:de:00.0", 0, "socket: 0 2 uncorrectable", "restart the machine" },
	{ "amdgpu 0000:01:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block", NULL, 0, NULL,
	  NULL },
	{ "amdgpu 0000:c3:00.0: amdgpu: no uncorrectable hardware errors detected in umc block", NULL, 0,
	  NULL, NULL },
	{ "amdgpu 0000:01:00.0: amdgpu: 3 correctable hardware errors detected in umc block", NULL, 0, NULL,
	  NULL },
	{ "amdgpu 0000:01:00.0: Direct firmware load for amdgpu/x.bin failed with error -2", NULL, 0, NULL,
	  NULL },
	{ "amdgpu", NULL, 0, NULL, NULL },
	{ "amdgpu  ", NULL, 0, NULL, NULL },
	/* others */
	{ "", NULL, 0, NULL, NULL },
	{ "usb 1-1: new high-speed USB device number 4", NULL, 0, NULL, NULL },
};

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void the_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct gpu_fault fault = { .text = "untouched" };

		print_message("# %s\n", lines[i].line);
		assert_int_equal(gpu_fault_parse(lines[i].line, &fault), lines[i].device != NULL);
		if (!lines[i].device) {
			assert_string_equal(fault.text, "untouched");
			continue;
		}
		assert_string_equal(fault.device, lines[i].device);
		assert_int_equal(fault.xid, lines[i].xid);
		assert_true(starts(fault.text, lines[i].text));
		assert_true(starts(fault.advice, lines[i].advice));
	}
}

/* The kernel cuts a line anywhere. */
static void cut_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (size_t length = 0; length <= strlen(lines[i].line); length++) {
			char *line = strndup(lines[i].line, length);
			struct gpu_fault fault;

			if (gpu_fault_parse(line, &fault))
				assert_true(fault.text >= line && fault.text <= line + length);
			free(line);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lines),
		cmocka_unit_test(cut_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
