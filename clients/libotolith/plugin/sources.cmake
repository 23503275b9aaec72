list(APPEND OTOLITH_SOURCES
  plugin/elf_check.c plugin/elf_view.c plugin/stage.c plugin/loader.c plugin/find.c
  plugin/descriptor_check.c plugin/record_check.c plugin/param_check.c
)
