# What `cmake --install` puts where: the server, and the library with what it takes to build against it.

include(CMakePackageConfigHelpers)

install(TARGETS holdfast)
install(TARGETS holdfast_library EXPORT holdfast)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# find_package(holdfast) gives the targets holdfast::holdfast and holdfast::holdfast_static.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-config.cmake DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake DESTINATION ${package_folder})

# So does pkg-config, wherever the files were moved to.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET holdfast_static)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/holdfast-static.pc.in ${PROJECT_BINARY_DIR}/holdfast-static.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/holdfast-static.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
