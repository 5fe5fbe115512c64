#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/gpu-static passes kernels that are in registers, and fails those that are not, that are not compiled, and files without
# a kernel.
. "$(dirname "$0")/lib.sh"
check() { # names of files
	said=$(KERNELS=$work FILES="$*" tools/gpu-static gfx90a 2>&1)
	code=$?
}
check pool
[ "$code" = 77 ] && { skip "gpu-static" "$said"; exit; }
is "$code" 0 "the kernels of pooling are in registers" "$said"
is "$(grep -c "^gfx90a .* registers .* 16 bytes: [0-9]* of [1-9]" <<<"$said")" 18 "six kernels, each for three types" "$said"
cat >"$work/stack.cl" <<-'CL'
	__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void stack(__global float *x, int n)
	{
		float kept[64];
		for (int i = 0; i < 64; i++)
			kept[i] = x[i];
		x[n] = kept[n % 64];
	}
CL
check stack
like "$code $said" '^1 .*stack .* SPILLS: stack [1-9]' "a kernel with an array in memory fails"
echo '__kernel void broken(__global float *x) { x[0] = no_such_name; }' >"$work/broken.cl"
check broken
like "$code $said" '^1 .*no_such_name' "a kernel that is not compiled fails"
echo 'void no_kernel(void) {}' >"$work/empty.cl"
check empty
is "$code" 1 "a file without a kernel fails" "$said"
