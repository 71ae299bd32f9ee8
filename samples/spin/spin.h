/*
 * spin as a function: it is a program of its own and, as libspin.so, a part of other processes,
 * where profilers that are started from within can be compared too.
 */
#ifndef SPIN_SPIN_H
#define SPIN_SPIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Does what the command line says and returns the exit status. */
int spin_run(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
