/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/program.h"
#include "import/import.h"

/* Prints the error's sentence. Returns the exit code: that of `kiln check` for a network that Kiln lacks
 * parts of.
 */
static int fail(const struct error *err)
{
	(void)fprintf(stderr, "kiln: %s\n", err->text);
	return err->code == -EINVAL ? EX_CONFIG : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct program program = { "kiln-import", "FILE FOLDER",
						"Makes FOLDER/kiln.conf and FOLDER/weights.safetensors from "
						"a .keras file. `kiln import` starts it" };
	struct error err = { 0 };
	const int r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
	return import_keras(argv[1], argv[2], &err) < 0 ? fail(&err) : EX_OK;
}
