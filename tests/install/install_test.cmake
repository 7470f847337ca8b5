# See CMakeLists.txt. Variables: BUILD, EXAMPLE, PROGRAM, SCRATCH, CXX, SANITIZE.
function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed with ${status}\n${out}${err}")
  endif()
  set(${output} "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)

set(flags "")
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
run(ignored ${CMAKE_COMMAND} -G Ninja -S ${EXAMPLE} -B ${SCRATCH}/build
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix ${flags})
run(ignored ${CMAKE_COMMAND} --build ${SCRATCH}/build)

run(counts ${SCRATCH}/build/opcodes ${PROGRAM})
# repro.pb has two convolutions, one of them in the body of its loop.
if(NOT counts MATCHES "(^|\n) +2 convolution\n")
  message(FATAL_ERROR "the example printed\n${counts}")
endif()
run(version ${SCRATCH}/prefix/bin/eightfold --version)
if(NOT version MATCHES "^eightfold [0-9]+\\.[0-9]+\\.[0-9]+\n$")
  message(FATAL_ERROR "the installed program says ${version}")
endif()
if(NOT EXISTS ${SCRATCH}/prefix/bin/eightfold-worker)
  message(FATAL_ERROR "eightfold-worker is not installed beside eightfold")
endif()
