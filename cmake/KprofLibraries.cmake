# Libraries from the system, as imported targets: kprof::zstd, kprof::yaml, kprof::cjson, kprof::sqlite,
# kprof::zlib, kprof::yajl, kprof::xxhash.
# zstd is linked statically where an archive exists, because the collector lives in other programs.
function(kprof_find_library target header)
  find_path(${target}_INCLUDE ${header} PATH_SUFFIXES ${KPROF_INCLUDE_SUFFIX})
  find_library(${target}_LIBRARY NAMES ${ARGN})
  if(NOT ${target}_INCLUDE OR NOT ${target}_LIBRARY)
    message(FATAL_ERROR "kprof needs ${header} and one of ${ARGN}: see README, «make» installs it")
  endif()
  add_library(kprof::${target} UNKNOWN IMPORTED)
  set_target_properties(kprof::${target} PROPERTIES
    IMPORTED_LOCATION ${${target}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE})
endfunction()

kprof_find_library(zstd zstd.h libzstd.a zstd)
kprof_find_library(yaml yaml.h yaml)
kprof_find_library(cjson cjson/cJSON.h cjson)
kprof_find_library(sqlite sqlite3.h sqlite3)
kprof_find_library(zlib zlib.h z)
kprof_find_library(yajl yajl/yajl_parse.h yajl)

find_path(XXHASH_INCLUDE xxhash.h)
if(NOT XXHASH_INCLUDE)
  message(FATAL_ERROR "kprof needs xxhash.h (libxxhash-dev)")
endif()
add_library(kprof::xxhash INTERFACE IMPORTED)
set_target_properties(kprof::xxhash PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE})

find_package(Threads REQUIRED)
