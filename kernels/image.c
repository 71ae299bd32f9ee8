/* The fatbins, put into the read-only data by the assembler; see image.h. */
#include "kernels/image.h"

#include <stdint.h>

#ifdef KP_FATBINS
#define IMAGE(name)                                                                                \
	__asm__(".section .rodata\n"                                                               \
		".balign 64\n"                                                                     \
		".globl kp_" #name "_begin\n"                                                      \
		".hidden kp_" #name "_begin\n"                                                     \
		"kp_" #name "_begin:\n"                                                            \
		".incbin \"" KP_FATBINS "/" #name ".fatbin\"\n"                                    \
		"kp_" #name "_end:\n"                                                              \
		".balign 8\n"                                                                      \
		".globl kp_" #name "_length\n"                                                     \
		".hidden kp_" #name "_length\n"                                                    \
		"kp_" #name "_length:\n"                                                           \
		".quad kp_" #name "_end - kp_" #name "_begin\n"                                    \
		".previous\n");                                                                    \
	extern const unsigned char kp_##name##_begin[];                                            \
	extern const uint64_t kp_##name##_length;                                                  \
	struct kp_kernel_image kp_kernel_image_##name(void)                                        \
	{                                                                                          \
		return (struct kp_kernel_image){kp_##name##_begin, (size_t)kp_##name##_length};    \
	}
#else
#define IMAGE(name)                                                                                \
	struct kp_kernel_image kp_kernel_image_##name(void)                                        \
	{                                                                                          \
		return (struct kp_kernel_image){0};                                                \
	}
#endif
KP_KERNEL_IMAGES(IMAGE)
