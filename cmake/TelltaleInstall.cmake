# Install rules shared by all parts: the package configuration behind find_package(telltale).
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/telltale-config.cmake.in ${PROJECT_BINARY_DIR}/telltale-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/telltale)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/telltale-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/telltale-config.cmake ${PROJECT_BINARY_DIR}/telltale-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/telltale)
install(EXPORT telltale NAMESPACE telltale:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/telltale)
