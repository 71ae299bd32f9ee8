/* The program of the null controls: its library does everything; see control.h. */
#include "kernels/control.h"

int main(int argc, char **argv)
{
	return kp_control_work(argc - 1, argv + 1);
}
