/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels: every kernel that a plan can launch, with the file of kernels/ that defines it and
 * its properties. tests/unit/kernels.c checks that the table and the OpenCL sources agree. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* Files without a kernel. Every program begins with all of them, in this order. */
#define SHARED_FILES(each) \
	each(storage) \
	each(philox) \
	each(groups) \
	each(tile) \
	each(panels) \
	each(labels) \
	each(step) \
	each(window)

/* Files with kernels. Each needs the shared files, but no other file with kernels. */
#define KERNEL_FILES(each) \
	each(gemm) \
	each(gemm_packed) \
	each(gemm_tiled) \
	each(gemm_mma) \
	each(elements) \
	each(activation) \
	each(softmax) \
	each(rows) \
	each(norm) \
	each(layer_norm) \
	each(norm_lines) \
	each(embedding) \
	each(losses) \
	each(row_losses) \
	each(focal_losses) \
	each(number_losses) \
	each(confusion) \
	each(metrics) \
	each(update) \
	each(gradients) \
	each(parts) \
	each(loss_scale) \
	each(conv) \
	each(conv_packed) \
	each(conv_winograd) \
	each(conv_tiled) \
	each(conv_mma) \
	each(depthwise) \
	each(depthwise_lines) \
	each(pool) \
	each(recurrent) \
	each(attention) \
	each(attention_group) \
	each(augment) \
	each(chain)
/* clang-format on */

#define KERNEL_FILE(name) KERNEL_FILE_##name,
enum kernel_file { SHARED_FILES(KERNEL_FILE) KERNEL_FILES(KERNEL_FILE) KERNEL_FILE_MAX };
#undef KERNEL_FILE

enum kernel_property {
	KERNEL_SINGLE = 1u << 0, /* has work-groups of one item on a CPU device, and may be part of a chain
				    (groups.cl) */
	KERNEL_WITH_FILE =
		1u << 1, /* is launched outside of plans (share.c): each program with its file has it */
};

struct kernel {
	const char *name;
	enum kernel_file file;
	uint32_t properties; /* flags of enum kernel_property */
};

extern const struct kernel kernel_table[];
extern const uint32_t kernel_table_count;

/* Returns the row of the kernel of this name, or NULL. */
const struct kernel *kernel_find(const char *name);
bool kernel_is_single(const char *name);
