/* Stands for the library that another tool puts into programs: only its file's name matters. */
__attribute__((visibility("default"))) int kp_fake_tool;
