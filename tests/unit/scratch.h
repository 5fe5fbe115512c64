/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test's own node: an empty folder that is KILN_ROOT from scratch_setup() to scratch_teardown().
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static char root[64];

static inline int scratch_setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/kiln-unit-XXXXXX");
	return !mkdtemp(root) || setenv("KILN_ROOT", root, 1) < 0;
}

static inline int scratch_teardown(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command); // NOLINT(cert-env33-c): the name is ours
}
