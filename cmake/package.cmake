# What the program tells of itself, made by it and installed with it; and the Debian package that `make package` makes
# of everything that is installed, with the service for systemd.

set(reference ${PROJECT_BINARY_DIR}/reference)
file(MAKE_DIRECTORY ${reference})
add_custom_command(
    OUTPUT ${reference}/holdfast.1.gz ${reference}/holdfast.bash ${reference}/_holdfast ${reference}/holdfast.fish
    COMMAND holdfast manual | gzip -9n > ${reference}/holdfast.1.gz
    COMMAND holdfast completion bash > ${reference}/holdfast.bash
    COMMAND holdfast completion zsh > ${reference}/_holdfast
    COMMAND holdfast completion fish > ${reference}/holdfast.fish
    DEPENDS holdfast)
add_custom_target(holdfast_reference ALL DEPENDS ${reference}/holdfast.1.gz)

install(FILES ${reference}/holdfast.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(share ${CMAKE_INSTALL_DATADIR})
install(FILES ${reference}/holdfast.bash DESTINATION ${share}/bash-completion/completions RENAME holdfast)
install(FILES ${reference}/_holdfast DESTINATION ${share}/zsh/vendor-completions)
install(FILES ${reference}/holdfast.fish DESTINATION ${share}/fish/vendor_completions.d)

# The service belongs to the package alone: it knows where its program is, and who runs it.
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
function(install_for_package file folder)
    install(FILES ${file} DESTINATION ${folder} COMPONENT package EXCLUDE_FROM_ALL ${ARGN})
endfunction()
install_for_package(${packaging}/holdfast.conf /etc/holdfast)
install_for_package(${packaging}/holdfast.service /usr/lib/systemd/system)
install_for_package(${packaging}/holdfast.sysusers /usr/lib/sysusers.d RENAME holdfast.conf)
install_for_package(${packaging}/copyright /usr/share/doc/holdfast)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME holdfast)
set(CPACK_PACKAGE_CONTACT "Holdfast <holdfast@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "lock server with leases, fencing numbers and fair queues")
set(CPACK_PACKAGE_DESCRIPTION "Holdfast keeps locks for programs on one machine or many.
It speaks the protocols of several lock services at once, over HTTP
and TCP, and all of them contend for the same locks. The engine comes
as a library for C++, too.")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_INSTALL_CMAKE_PROJECTS
    "${PROJECT_BINARY_DIR};holdfast;ALL;/" "${PROJECT_BINARY_DIR};holdfast;package;/")
# Into a folder that stands for the root, for /etc is not below /usr.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${packaging}/debian/conffiles ${packaging}/debian/triggers
    ${packaging}/debian/postinst ${packaging}/debian/prerm ${packaging}/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
