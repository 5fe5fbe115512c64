/* SPDX-License-Identifier: Apache-2.0 */
/* Also included by C: the layers that are an affine map of a picture, and what lies beyond its edges. */
enum warp_kind { WARP_FLIP, WARP_ROTATION, WARP_ZOOM, WARP_ZOOM_EVENLY, WARP_TRANSLATION, WARP_SHEAR };
enum warp_fill { WARP_CONSTANT, WARP_NEAREST, WARP_REFLECT, WARP_WRAP };
