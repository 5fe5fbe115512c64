/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/fault.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "the trainer starts again by itself; if it happens again, test the GPU with `make gpu-check`"
#define AGAIN   "; if it happens again, ask who sold the GPU"
#define RESET   "reset the GPU with `nvidia-smi --gpu-reset`, or restart the machine" AGAIN

/* The immediate action of NVIDIA's Xid catalog for GPUs since Ampere ("Analyzing Xid Errors with the Xid
 * Catalog"), 2026. Numbers that it ignores are left out. */
static const struct {
	uint64_t xid;
	const char *advice; /* NULL = no fault */
} xids[] = {
	{ 8, PROGRAM },
	{ 13, PROGRAM },
	{ 14, NULL },
	{ 31, PROGRAM },
	{ 32, PROGRAM },
	{ 43, PROGRAM },
	{ 45, NULL }, /* a process that used the GPU was ended */
	{ 46, RESET },
	{ 48, RESET },
	{ 54, "connect the power cable of the GPU" },
	{ 62, RESET },
	{ 63, "restart the machine when it has nothing to do: the GPU then uses other memory in place of the "
	      "bad" },
	{ 64, RESET },
	{ 69, PROGRAM },
	{ 74, RESET },
	{ 79, "restart the machine, and look at the slot, the power cable and the cooling of the GPU" AGAIN },
	{ 92, "the errors were corrected; if it happens again, ask who sold the GPU" },
	{ 94, "the trainer starts again by itself; restart the machine when it has nothing to do" },
	{ 95, RESET },
	{ 106, NULL },
	{ 107, NULL },
	{ 109, RESET },
	{ 110, RESET },
	{ 119, RESET },
	{ 120, RESET },
	{ 121, "the errors were corrected; restart the machine when it has nothing to do" },
	{ 136, RESET },
	{ 140, RESET },
	{ 143, RESET },
	{ 154, "do what the message says after \"to\"" },
	{ 156, RESET },
	{ 158, RESET },
};

static const char *xid_advice(uint64_t xid)
{
	for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (xids[i].xid == xid)
			return xids[i].advice;
	return "look the number up in NVIDIA's Xid catalog";
}

/* Copies an address up to one of the characters of `ends`. Returns what follows it; NULL: there is none. */
static const char *copy_device(const char *from, const char *ends, struct gpu_fault *fault)
{
	const size_t length = strcspn(from, ends);

	if (!from[length] || length >= sizeof(fault->device) || !isxdigit((unsigned char)*from))
		return NULL;
	(void)snprintf(fault->device, sizeof(fault->device), "%.*s", (int)length, from);
	return from + length;
}

/* "NVRM: Xid (PCI:0000:3b:00): 79, ..."; older drivers write no "PCI:", and a part of a GPU (MIG) is named
 * behind the address: "(PCI:0000:01:00 GPU-I:05)". */
static bool parse_nvidia(const char *line, struct gpu_fault *ret_fault)
{
	static const char start[] = "NVRM: Xid (";
	struct gpu_fault fault = { 0 };
	const char *at = strstr(line, start);
	char *end;

	if (!at)
		return false;
	at += strlen(start);
	if (strncmp(at, "PCI:", 4) == 0)
		at += 4;
	at = copy_device(at, " )", &fault);
	if (!at || !(at = strstr(at, "): ")))
		return false;
	at += 3;
	fault.xid = strtoull(at, &end, 10);
	fault.advice = xid_advice(fault.xid);
	if (end == at || !fault.advice)
		return false;
	fault.text = end + strspn(end, ", ");
	*ret_fault = fault;
	return true;
}

static const struct {
	const char *words, *advice;
	const char *also; /* other words of the text */
	bool counts;      /* a number that is not 0 is before the words */
} amd_kinds[] = {
	{ "uncorrectable hardware errors detected in",
	  "restart the machine: a driver that cannot replace the bad memory otherwise uses it again" AGAIN,
	  "", true },
	{ "GPU reset begin!",
	  "the trainer starts again by itself; if it happens again, update driver and firmware, and test the "
	  "GPU "
	  "with `make gpu-check`",
	  "", false },
	{ "failed with error", "restart the machine" AGAIN, "GPU reset", false },
	{ "GPU Recovery Failed", "restart the machine" AGAIN, "", false },
	{ "Fatal error during GPU init", "restart the machine" AGAIN, "", false },
};

/* Returns the number that ends before `end`, with a space between; 0: there is none. */
static uint64_t number_before(const char *text, const char *end)
{
	while (end > text && end[-1] == ' ')
		end--;
	while (end > text && isdigit((unsigned char)end[-1]))
		end--;
	return strtoull(end, NULL, 10);
}

/* "amdgpu 0000:3b:00.0: amdgpu: TEXT"; older kernels write no second "amdgpu: ". */
static bool parse_amd(const char *line, struct gpu_fault *ret_fault)
{
	struct gpu_fault fault = { 0 };
	const char *at = strncmp(line, "amdgpu ", 7) == 0 ? copy_device(line + 7, " ", &fault) : NULL;

	if (!at)
		return false;
	fault.device[strlen(fault.device) - 1] = '\0'; /* the colon */
	fault.text = at + 1;
	if (strncmp(fault.text, "amdgpu: ", 8) == 0)
		fault.text += 8;
	for (size_t i = 0; i < sizeof(amd_kinds) / sizeof(amd_kinds[0]); i++) {
		const char *words = strstr(fault.text, amd_kinds[i].words);

		if (!words || !strstr(fault.text, amd_kinds[i].also) ||
		    (amd_kinds[i].counts && number_before(fault.text, words) == 0))
			continue;
		fault.advice = amd_kinds[i].advice;
		*ret_fault = fault;
		return true;
	}
	return false;
}

bool gpu_fault_parse(const char *line, struct gpu_fault *ret_fault)
{
	return parse_nvidia(line, ret_fault) || parse_amd(line, ret_fault);
}
