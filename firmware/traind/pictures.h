/* SPDX-License-Identifier: Apache-2.0 */
/* The first pictures of a run for TensorBoard, as the network sees them (model/view.h). Main thread only. */
#pragma once

#include "model/model.h"

struct train;

/* Writes tensorboard.images pictures of the first batch, before it is trained on; nothing for a network that
 * reads none. Pictures that cannot be drawn or written are a warning: the run goes on without them. */
void pictures_write(struct train *train, const struct model_batch *batch);
