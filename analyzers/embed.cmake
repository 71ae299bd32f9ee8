# Writes the bytes of INPUT as a C array NAME (and NAME_length) to OUTPUT:
#   cmake -DINPUT=… -DOUTPUT=… -DNAME=… -P embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
cmake_path(GET INPUT FILENAME input_name)
file(WRITE ${OUTPUT} "/* Made from ${input_name} by embed.cmake. */
#include <stddef.h>

extern const unsigned char ${NAME}[];
extern const size_t ${NAME}_length;

const unsigned char ${NAME}[] = {
${bytes}
};
const size_t ${NAME}_length = sizeof(${NAME});
")
