# Finds the CUDA Toolkit in CUDA_HOME, /usr/local/cuda* or on PATH.
# Sets KPROF_HAVE_CUPTI (headers for the collector: kprof::cupti) and KPROF_HAVE_NVCC (samples).
set(KPROF_HAVE_CUPTI OFF)
set(KPROF_HAVE_NVCC OFF)
if(KPROF_CUDA STREQUAL "OFF")
  return()
endif()

file(GLOB kprof_cuda_roots /usr/local/cuda /usr/local/cuda-*)
find_program(KPROF_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin PATHS ${kprof_cuda_roots} PATH_SUFFIXES bin)
set(kprof_cuda_hints $ENV{CUDA_HOME})
if(KPROF_NVCC)
  file(REAL_PATH ${KPROF_NVCC} kprof_nvcc_real)
  cmake_path(GET kprof_nvcc_real PARENT_PATH kprof_nvcc_bin)
  cmake_path(GET kprof_nvcc_bin PARENT_PATH kprof_nvcc_root)
  list(APPEND kprof_cuda_hints ${kprof_nvcc_root})
endif()

find_path(KPROF_CUPTI_INCLUDE cupti.h HINTS ${kprof_cuda_hints} PATHS ${kprof_cuda_roots}
  PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include)
find_path(KPROF_CUDA_INCLUDE cuda.h HINTS ${kprof_cuda_hints} PATHS ${kprof_cuda_roots}
  PATH_SUFFIXES include targets/x86_64-linux/include)
if(KPROF_CUPTI_INCLUDE AND KPROF_CUDA_INCLUDE)
  set(KPROF_HAVE_CUPTI ON)
  cmake_path(GET KPROF_CUDA_INCLUDE PARENT_PATH KPROF_CUDA_ROOT)
  add_library(kprof::cupti INTERFACE IMPORTED)
  set_target_properties(kprof::cupti PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${KPROF_CUPTI_INCLUDE};${KPROF_CUDA_INCLUDE}")
endif()

if(KPROF_NVCC)
  # A compiler that does not work (an unsupported host compiler, half a toolkit) costs the samples only.
  set(CMAKE_CUDA_COMPILER ${KPROF_NVCC})
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(KPROF_HAVE_NVCC ON)
  else()
    message(WARNING "${KPROF_NVCC} does not work here: the sample programs are not built")
  endif()
endif()

if(KPROF_CUDA STREQUAL "ON" AND NOT (KPROF_HAVE_CUPTI AND KPROF_HAVE_NVCC))
  message(FATAL_ERROR "KPROF_CUDA=ON, but no CUDA Toolkit with CUPTI: set CUDA_HOME")
endif()
