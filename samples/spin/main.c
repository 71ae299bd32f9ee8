/* The program spin; all it does is in spin.cu. */
#include "spin.h"

int main(int argc, char **argv)
{
	return spin_run(argc, argv);
}
