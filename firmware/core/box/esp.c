/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/esp.h"

#include "core/base/paths.h"
#include "core/box/image.h"

#include <string.h>
#include <sys/stat.h>

int esp_check(struct error *err)
{
	char path[PATH_BYTES], parent[PATH_BYTES];
	struct stat esp, above;

	if (!image_is_running())
		return 0;
	/* Only root may search the ESP, so PATH/.. is not for everybody. */
	(void)snprintf(parent, sizeof(parent), "%s", path_of(PATH_ESP, NULL, path));
	(void)snprintf(strrchr(parent, '/'), 2, "/");
	if (stat(path, &esp) == 0 && stat(parent, &above) == 0 && esp.st_dev != above.st_dev)
		return 0;
	return error_set(
		err, -ENODEV,
		"no ESP: the partition KILN is not mounted at /efi, so the box takes no files from it "
		"and no update");
}
