/* The fatbins, put into the read-only data by the assembler; see image.h. */
#include "kernels/image.h"

#include <stdint.h>

#ifdef KP_CEILINGS_FATBIN
__asm__(".section .rodata\n"
	".balign 64\n"
	".globl kp_ceilings_begin\n"
	".hidden kp_ceilings_begin\n"
	"kp_ceilings_begin:\n"
	".incbin \"" KP_CEILINGS_FATBIN "\"\n"
	"kp_ceilings_end:\n"
	".balign 8\n"
	".globl kp_ceilings_length\n"
	".hidden kp_ceilings_length\n"
	"kp_ceilings_length:\n"
	".quad kp_ceilings_end - kp_ceilings_begin\n"
	".previous\n");
extern const unsigned char kp_ceilings_begin[];
extern const uint64_t kp_ceilings_length;

struct kp_kernel_image kp_kernel_image_ceilings(void)
{
	return (struct kp_kernel_image){kp_ceilings_begin, (size_t)kp_ceilings_length};
}
#else
struct kp_kernel_image kp_kernel_image_ceilings(void)
{
	return (struct kp_kernel_image){0};
}
#endif
