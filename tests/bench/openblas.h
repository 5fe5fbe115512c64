/* SPDX-License-Identifier: Apache-2.0 */
/* Loads OpenBLAS for comparison, if it is installed. */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

typedef void sgemm_function(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
			    int lda, const float *b, int ldb, float beta, float *c, int ldc);

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* Returns cblas_sgemm(), or NULL where OpenBLAS is not installed. OpenBLAS chooses its kernels by the
 * processor, whatever the environment says. */
static inline sgemm_function *find_sgemm(void)
{
	static const char *const names[] = { "libopenblas.so.0", "libopenblas.so" };

	(void)unsetenv("OPENBLAS_CORETYPE");
	(void)unsetenv("OPENBLAS_L2_SIZE");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW);

		if (library)
			return (sgemm_function *)dlsym(library, "cblas_sgemm");
	}
	return NULL;
}
