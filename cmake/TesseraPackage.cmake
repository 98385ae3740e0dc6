# The library as a package for programs outside the tree: tessera::session.

# Appends the project's targets that `target` needs to the list named `all`.
function(tessera_needed target all)
  set(list ${${all}})
  if(NOT target IN_LIST list)
    list(APPEND list ${target})
    get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
    foreach(name ${needs})
      string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" name "${name}")
      if(TARGET ${name})
        get_target_property(imported ${name} IMPORTED)
        if(NOT imported)
          tessera_needed(${name} list)
        endif()
      endif()
    endforeach()
  endif()
  set(${all} ${list} PARENT_SCOPE)
endfunction()

# tessera_package(tessera_NAME ...): each is tessera::NAME, here and for find_package(tessera) in the build folder.
function(tessera_package)
  set(needed)
  set(aliases)
  foreach(target ${ARGN})
    tessera_needed(${target} needed)
    string(REPLACE "tessera_" "tessera::" alias ${target})
    add_library(${alias} ALIAS ${target})
    string(APPEND aliases "set_target_properties(tessera::${target} PROPERTIES IMPORTED_GLOBAL TRUE)\nadd_library(${alias} ALIAS tessera::${target})\n")
  endforeach()
  export(TARGETS ${needed} NAMESPACE tessera:: FILE ${tessera_BINARY_DIR}/tessera-targets.cmake)
  file(WRITE ${tessera_BINARY_DIR}/tessera-config.cmake
       "# The libraries of this build folder. Made by cmake/TesseraPackage.cmake.\n"
       "list(APPEND CMAKE_MODULE_PATH ${tessera_SOURCE_DIR}/cmake)\n"
       "include(TesseraDependencies)\n"
       "include(\${CMAKE_CURRENT_LIST_DIR}/tessera-targets.cmake)\n"
       "# Which warnings a program outside wants is its own business.\n"
       "get_target_property(tessera_flags tessera::tessera_options INTERFACE_COMPILE_OPTIONS)\n"
       "list(REMOVE_ITEM tessera_flags -Wall -Wextra -Werror)\n"
       "set_target_properties(tessera::tessera_options PROPERTIES INTERFACE_COMPILE_OPTIONS \"\${tessera_flags}\")\n"
       "${aliases}")
endfunction()
