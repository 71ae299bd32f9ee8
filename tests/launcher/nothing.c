/* In the collector's place: a library that does nothing. */
extern int launcher_nothing_here;
int launcher_nothing_here;
