list(APPEND OTOLITH_SOURCES
  plugin/elf_check.c plugin/elf_view.c plugin/elf_imports.c plugin/elf_symbol.c plugin/described.c plugin/stage.c plugin/loader.c plugin/find.c
  plugin/descriptor_check.c plugin/record_check.c plugin/param_check.c
  plugin/params.c plugin/param_path.c plugin/param_map.c plugin/param_bind.c plugin/param_text.c plugin/prepare.c
  plugin/model_check.c plugin/model.c plugin/finite.c plugin/input_check.c plugin/record_copy.c)
