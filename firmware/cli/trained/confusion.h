/* SPDX-License-Identifier: Apache-2.0 */
/* Prints how a network confuses classes: the confusion matrix of an evaluation, and precision, recall and F1
 * of each class, with the names of the classes. Prints nothing where the network has no classes. */
#pragma once

#include "cli/trained/answer.h"
#include "model/learn/metrics.h"

/* Prints tables for people. With more than 20 classes prints no matrix, because its rows would not fit on a
 * screen. */
void confusion_print(const struct metrics *metrics, const struct answers *answers);
/* Adds the members confusion, classes and macro_average to a JSON object. */
void confusion_json(const struct metrics *metrics, const struct answers *answers, cJSON *object);
