/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stored` is the type in which activations, their gradients and copies of weights are in memory. All kernels read and
 * write it only through load and store, whose arguments have the order of those of vload and vstore. load4 and store4 access
 * four numbers at a pointer that is aligned to all four. Computations and sums are in float.
 *   STORED_FLOAT16 (build option)   IEEE binary16: 11 bits, 6e-8 .. 65504, infinite beyond
 *   STORED_BFLOAT16 (build option)  the upper half of a float: 8 bits, a float's range
 *   neither                         a float, and load and store are plain accesses
 * A store rounds to nearest, ties to even; a NaN stays a NaN. Tolerance of each store: 2^-11 (binary16) or 2^-8
 * relative; for binary16 below its normal range, half of 6e-8 absolute.
 */

/* vload16 and vstore16 of floats. PoCL splits a vstore16 into three stores, and the CPU cannot forward their data to a
 * later load. */
#ifdef CPU_DEVICE
typedef float16 float16_anywhere __attribute__((aligned(4)));
#define PIECE16(space)                                                                                                \
	float16 __attribute__((overloadable)) get16(size_t i, space const float *p)                                   \
	{                                                                                                             \
		return ((space const float16_anywhere *)p)[i];                                                        \
	}                                                                                                             \
	void __attribute__((overloadable)) put16(float16 x, size_t i, space float *p)                                 \
	{                                                                                                             \
		((space float16_anywhere *)p)[i] = x;                                                                 \
	}
PIECE16(__global)
PIECE16(__private)
#else
#define get16 vload16
#define put16 vstore16
#endif

/* Fetches the line of a cache that holds a number, which need not exist. oclgrind cannot (tests/opencl/on). */
#if defined(CPU_DEVICE) && !defined(WITHOUT_FETCH)
#define FETCH(p) __builtin_prefetch((const void *)(size_t)(p));
#else
#define FETCH(p)
#endif

#if defined(STORED_FLOAT16)

typedef half stored;

#define load(i, p)       vload_half(i, p)
#define store(x, i, p)   vstore_half_rte(x, i, p)
#define load4(p)         vloada_half4(0, p)
#define store4(x, p)     vstorea_half4_rte(x, 0, p)

/* vload_half16 and vstore_half16_rte for every address: on a CPU, those of PoCL 6 end the process where the address is no
 * multiple of 16 bytes. */
#ifdef CPU_DEVICE
typedef ushort16 ushort16_anywhere __attribute__((aligned(2)));

float16 load16(size_t i, __global const stored *p)
{
	const ushort16 bits = ((__global const ushort16_anywhere *)p)[i];

	return vload_half16(0, (__private const stored *)&bits);
}

void store16(float16 x, size_t i, __global stored *p)
{
	ushort16 bits;

	vstore_half16_rte(x, 0, (__private stored *)&bits);
	((__global ushort16_anywhere *)p)[i] = bits;
}
#else
#define load16(i, p)     vload_half16(i, p)
#define store16(x, i, p) vstore_half16_rte(x, i, p)
#endif

#elif defined(STORED_BFLOAT16)

typedef ushort stored;

float load(size_t i, __global const stored *p)
{
	return as_float((uint)p[i] << 16);
}

float4 load4(__global const stored *p)
{
	return as_float4(convert_uint4(*(__global const ushort4 *)p) << 16);
}

float16 load16(size_t i, __global const stored *p)
{
	return as_float16(convert_uint16(vload16(i, p)) << 16);
}

void store(float x, size_t i, __global stored *p)
{
	const uint u = as_uint(x);

	p[i] = isnan(x) ? u >> 16 | 0x40u : (u + 0x7fffu + (u >> 16 & 1)) >> 16;
}

void store4(float4 x, __global stored *p)
{
	const uint4 u = as_uint4(x), rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;

	*(__global ushort4 *)p = convert_ushort4(select(rounded, u >> 16 | 0x40u, isnan(x)));
}

void store16(float16 x, size_t i, __global stored *p)
{
	const uint16 u = as_uint16(x), rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;

	vstore16(convert_ushort16(select(rounded, u >> 16 | 0x40u, isnan(x))), i, p);
}

#else

typedef float stored;

#define load(i, p)       ((p)[i])
#define store(x, i, p)   ((p)[i] = (x))
#define load16(i, p)     get16(i, p)
#define store16(x, i, p) put16(x, i, p)
#define load4(p)         (*(__global const float4 *)(p))
#define store4(x, p)     (*(__global float4 *)(p) = (x))

#endif

/* Define functions that access a quad: n neighbouring numbers, of which at most four count. With `whole` all four do, and p is
 * aligned to them. */
#define QUADS(get, put, type, LOAD4, STORE4, LOAD, STORE)                                                      \
	float4 get(bool whole, int n, __global const type *p)                                                 \
	{                                                                                                     \
		if (whole)                                                                                    \
			return LOAD4(p);                                                                      \
		return (float4)(LOAD(0, p), n > 1 ? LOAD(1, p) : 0, n > 2 ? LOAD(2, p) : 0,                   \
				n > 3 ? LOAD(3, p) : 0);                                                      \
	}                                                                                                     \
	void put(float4 x, bool whole, int n, __global type *p)                                               \
	{                                                                                                     \
		if (whole) {                                                                                  \
			STORE4(x, p);                                                                         \
			return;                                                                               \
		}                                                                                             \
		STORE(x.x, 0, p);                                                                             \
		if (n > 1)                                                                                    \
			STORE(x.y, 1, p);                                                                     \
		if (n > 2)                                                                                    \
			STORE(x.z, 2, p);                                                                     \
		if (n > 3)                                                                                    \
			STORE(x.w, 3, p);                                                                     \
	}
#define FLOAT4_AT(p)          (*(__global const float4 *)(p))
#define PUT_FLOAT4(x, p)      (*(__global float4 *)(p) = (x))
#define FLOAT_AT(i, p)        ((p)[i])
#define PUT_FLOAT(x, i, p)    ((p)[i] = (x))
QUADS(load_quad, store_quad, stored, load4, store4, load, store)
QUADS(get_quad, put_quad, float, FLOAT4_AT, PUT_FLOAT4, FLOAT_AT, PUT_FLOAT)

/* Define functions that access the first `count` numbers of a vector, 16 at most; get() makes the others 0. */
#define SOME(get, put, type, LOAD16, STORE16, LOAD, STORE)                                                     \
	float16 get(int count, __global const type *p)                                                        \
	{                                                                                                     \
		float lane[16] = { 0 };                                                                       \
                                                                                                              \
		if (count >= 16)                                                                              \
			return LOAD16(0, p);                                                                  \
		for (int i = 0; i < count; i++)                                                               \
			lane[i] = LOAD(i, p);                                                                 \
		return get16(0, lane);                                                                        \
	}                                                                                                     \
	void put(float16 x, int count, __global type *p)                                                      \
	{                                                                                                     \
		float lane[16];                                                                               \
                                                                                                              \
		if (count >= 16) {                                                                            \
			STORE16(x, 0, p);                                                                     \
			return;                                                                               \
		}                                                                                             \
		put16(x, 0, lane);                                                                            \
		for (int i = 0; i < count; i++)                                                               \
			STORE(lane[i], i, p);                                                                 \
	}
SOME(load_some, store_some, stored, load16, store16, load, store)
SOME(get_some, put_some, float, get16, put16, FLOAT_AT, PUT_FLOAT)
