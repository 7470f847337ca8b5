# What `cmake --install` puts where: the programs, every room as a static library eightfold::ROOM,
# their headers under include/eightfold/ in the folders they have here, and the package that
# `find_package(eightfold)` finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY EIGHTFOLD_ROOMS)
list(REMOVE_ITEM rooms cli)  # the program, not a library for others
foreach(room ${rooms})
  set_target_properties(eightfold_${room} PROPERTIES EXPORT_NAME ${room})
  install(TARGETS eightfold_${room} EXPORT eightfoldTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
foreach(program eightfold eightfold-worker)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/eightfold
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
  PATTERN "cli" EXCLUDE PATTERN "worker" EXCLUDE PATTERN "data" EXCLUDE)

set(EIGHTFOLD_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/eightfold)
install(EXPORT eightfoldTargets NAMESPACE eightfold:: DESTINATION ${EIGHTFOLD_PACKAGE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/eightfoldConfig.cmake.in
  ${PROJECT_BINARY_DIR}/eightfoldConfig.cmake
  INSTALL_DESTINATION ${EIGHTFOLD_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/eightfoldConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/eightfoldConfig.cmake
  ${PROJECT_BINARY_DIR}/eightfoldConfigVersion.cmake
  DESTINATION ${EIGHTFOLD_PACKAGE_DIR})
