list(APPEND OTOLITH_SOURCES
  parts/apply.c parts/check.c parts/find.c parts/number.c parts/plausible.c parts/read.c parts/terms.c parts/units.c)
