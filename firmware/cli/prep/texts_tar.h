/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the archive of the Large Movie Review Dataset. */
#pragma once

#include "cli/prep/texts.h"

/* Adds the reviews of a tar archive in the file `path`. Other members are
 * left out, except the lists aclImdb/{train,test}/urls_{neg,pos}.txt: the group of the review with the number
 * N is line N of its list, counted from 0, which names its film. A review whose list lacks this line is a
 * group of its own. Error texts show `name`. Errors: -EBADMSG with the member, what was found and what was
 * expected; -ENOMEM. */
MUST_CHECK int texts_read_tar(struct texts *texts, const char *path, const char *name, struct error *err);
