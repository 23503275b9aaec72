#include "description.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

#define MOST_UNITS 4096u
#define MOST_TYPES 16384u

/* A declared type, of which only the unit is needed. */
struct type {
    char name[FMU_NAME_BYTES];
    char unit[64];
};

struct reading {
    XML_Parser parser;
    struct fmu_description *description;
    struct fmu_unit *units;
    struct type *types;
    uint32_t unit_count, type_count;
    bool in_unit, in_variables, no_memory, has_doctype;
    struct type *type;              /* the declared type whose element is open */
    struct fmu_variable *variable;  /* the wanted variable whose element is open */
    bool is_scalar_element;         /* FMI 2: within ScalarVariable */
};

static const char *attribute(const char **attributes, const char *name)
{
    for (uint32_t i = 0; attributes[i] != NULL; i += 2) {
        if (strcmp(attributes[i], name) == 0) {
            return attributes[i + 1];
        }
    }
    return NULL;
}

static bool is_true(const char *text)
{
    return text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

static double number(const char *text, double otherwise)
{
    return text != NULL ? strtod(text, NULL) : otherwise;
}

/* A text that does not fit is stored as "", which no name equals. */
static void take_text(const char *text, char *room, size_t bytes)
{
    const size_t length = text != NULL ? strlen(text) : bytes;
    memset(room, 0, bytes);
    if (length < bytes) {
        memcpy(room, text, length);
    }
}

/* Makes room for one more item; grows in steps of 64. */
static void *grow(struct reading *reading, void *items, uint32_t count, uint32_t most, size_t bytes)
{
    if (count % 64 != 0) {
        return items;
    }
    void *grown = count < most ? realloc(items, (count + 64) * bytes) : NULL;
    if (grown == NULL) {
        reading->no_memory = true;
        (void)XML_StopParser(reading->parser, XML_FALSE);
    }
    return grown;
}

static void begin_unit(struct reading *reading, const char **attributes)
{
    struct fmu_unit *units = grow(reading, reading->units, reading->unit_count, MOST_UNITS, sizeof *units);
    if (units == NULL) {
        return;
    }
    reading->units = units;
    struct fmu_unit *unit = &units[reading->unit_count++];
    memset(unit, 0, sizeof *unit);
    unit->factor = 1.0;
    take_text(attribute(attributes, "name"), unit->name, sizeof unit->name);
    reading->in_unit = true;
}

static void take_base_unit(struct reading *reading, const char **attributes)
{
    static const char *const names[FMU_DIMENSIONS] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
    if (!reading->in_unit) {
        return;
    }
    struct fmu_unit *unit = &reading->units[reading->unit_count - 1];
    unit->has_base = true;
    for (uint32_t i = 0; i < FMU_DIMENSIONS; i++) {
        unit->powers[i] = (int8_t)number(attribute(attributes, names[i]), 0.0);
    }
    unit->factor = number(attribute(attributes, "factor"), 1.0);
    unit->offset = number(attribute(attributes, "offset"), 0.0);
}

static void begin_type(struct reading *reading, const char **attributes)
{
    struct type *types = grow(reading, reading->types, reading->type_count, MOST_TYPES, sizeof *types);
    if (types == NULL) {
        return;
    }
    reading->types = types;
    reading->type = &types[reading->type_count++];
    memset(reading->type, 0, sizeof *reading->type);
    take_text(attribute(attributes, "name"), reading->type->name, sizeof reading->type->name);
    take_text(attribute(attributes, "unit"), reading->type->unit, sizeof reading->type->unit);
}

static enum fmu_type type_named(const char *element)
{
    static const struct {
        const char *name;
        enum fmu_type type;
    } types[] = {{"Real", FMU_FLOAT64},   {"Float64", FMU_FLOAT64}, {"Float32", FMU_FLOAT32},
                 {"Integer", FMU_INT32},  {"Int32", FMU_INT32},     {"Boolean", FMU_BOOLEAN}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(element, types[i].name) == 0) {
            return types[i].type;
        }
    }
    return FMU_OTHER;
}

/* A parameter, an input, or a local variable with a start value (variability not constant). */
static bool is_settable(const char **attributes)
{
    const char *causality = attribute(attributes, "causality");
    return causality != NULL && (strcmp(causality, "parameter") == 0 || strcmp(causality, "input") == 0 ||
                                 strcmp(causality, "structuralParameter") == 0);
}

static void begin_variable(struct reading *reading, const char **attributes)
{
    const char *name = attribute(attributes, "name");
    reading->variable = NULL;
    for (uint32_t i = 0; name != NULL && reading->variable == NULL && i < reading->description->count; i++) {
        struct fmu_variable *wanted = &reading->description->variables[i];
        if (strcmp(wanted->name, name) == 0) {
            const char *reference = attribute(attributes, "valueReference");
            wanted->is_found = true;
            wanted->is_settable = is_settable(attributes) || attribute(attributes, "initial") != NULL;
            wanted->reference = reference != NULL ? (uint32_t)strtoul(reference, NULL, 10) : 0;
            reading->variable = wanted;
        }
    }
}

static void take_variable_type(struct reading *reading, const char *element, const char **attributes)
{
    if (reading->variable == NULL) {
        return;
    }
    reading->variable->type = type_named(element);
    take_text(attribute(attributes, "unit"), reading->variable->unit_name, sizeof reading->variable->unit_name);
    take_text(attribute(attributes, "declaredType"), reading->variable->declared_type, sizeof reading->variable->declared_type);
}

static void take_root(struct fmu_description *description, const char **attributes)
{
    const char *version = attribute(attributes, "fmiVersion");
    description->version = version == NULL ? 0 : version[0] == '2' ? 2 : version[0] == '3' ? 3 : 0;
    take_text(attribute(attributes, description->version == 2 ? "guid" : "instantiationToken"), description->token,
              sizeof description->token);
}

static void take_co_simulation(struct fmu_description *description, const char **attributes)
{
    const bool two = description->version == 2;
    description->is_co_simulation = true;
    take_text(attribute(attributes, "modelIdentifier"), description->identifier, sizeof description->identifier);
    description->saves_state = is_true(attribute(attributes, two ? "canGetAndSetFMUstate" : "canGetAndSetFMUState")) &&
                               is_true(attribute(attributes, two ? "canSerializeFMUstate" : "canSerializeFMUState"));
    description->has_event_mode = is_true(attribute(attributes, "hasEventMode"));
    description->fixed_step_s = number(attribute(attributes, "fixedInternalStepSize"), 0.0);
}

static void XMLCALL on_start(void *context, const char *element, const char **attributes)
{
    struct reading *reading = context;
    if (strcmp(element, "fmiModelDescription") == 0) {
        take_root(reading->description, attributes);
    } else if (strcmp(element, "CoSimulation") == 0) {
        take_co_simulation(reading->description, attributes);
    } else if (strcmp(element, "Unit") == 0 && !reading->in_variables) {
        begin_unit(reading, attributes);
    } else if (strcmp(element, "BaseUnit") == 0) {
        take_base_unit(reading, attributes);
    } else if (!reading->in_variables && (strcmp(element, "SimpleType") == 0 || strcmp(element, "Float64Type") == 0 ||
                                          strcmp(element, "Float32Type") == 0)) {
        begin_type(reading, attributes);
    } else if (!reading->in_variables && reading->type != NULL && strcmp(element, "Real") == 0) {
        take_text(attribute(attributes, "unit"), reading->type->unit, sizeof reading->type->unit);
    } else if (strcmp(element, "ModelVariables") == 0) {
        reading->in_variables = true;
    } else if (reading->in_variables && strcmp(element, "ScalarVariable") == 0) {
        begin_variable(reading, attributes);
        reading->is_scalar_element = true;
    } else if (reading->in_variables && reading->is_scalar_element) {
        take_variable_type(reading, element, attributes);
    } else if (reading->in_variables && strcmp(element, "Dimension") == 0 && reading->variable != NULL) {
        reading->variable->is_array = true;
    } else if (reading->in_variables && reading->description->version == 3 && attribute(attributes, "valueReference") != NULL) {
        begin_variable(reading, attributes);
        take_variable_type(reading, element, attributes);
    }
}

static void XMLCALL on_end(void *context, const char *element)
{
    struct reading *reading = context;
    if (strcmp(element, "Unit") == 0) {
        reading->in_unit = false;
    } else if (strcmp(element, "SimpleType") == 0) {
        reading->type = NULL;
    } else if (strcmp(element, "ModelVariables") == 0) {
        reading->in_variables = false;
    } else if (strcmp(element, "ScalarVariable") == 0) {
        reading->is_scalar_element = false;
        reading->variable = NULL;
    }
}

/* A document type could define entities, which no model description needs. */
static void XMLCALL on_doctype(void *context, const char *name, const char *system, const char *public, int has_subset)
{
    struct reading *reading = context;
    (void)name;
    (void)system;
    (void)public;
    (void)has_subset;
    reading->has_doctype = true;
    (void)XML_StopParser(reading->parser, XML_FALSE);
}

/* The unit of a variable is its own, else that of its declared type. A name that is wanted twice was read the first time. */
static void resolve_units(const struct reading *reading)
{
    struct fmu_variable *all = reading->description->variables;
    for (uint32_t i = 0; i < reading->description->count; i++) {
        struct fmu_variable *variable = &all[i];
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(all[k].name, variable->name) == 0) {
                *variable = all[k];
            }
        }
        for (uint32_t k = 0; variable->unit_name[0] == '\0' && k < reading->type_count; k++) {
            if (variable->declared_type[0] != '\0' && strcmp(reading->types[k].name, variable->declared_type) == 0) {
                memcpy(variable->unit_name, reading->types[k].unit, sizeof variable->unit_name);
            }
        }
        for (uint32_t k = 0; variable->unit_name[0] != '\0' && k < reading->unit_count; k++) {
            if (strcmp(reading->units[k].name, variable->unit_name) == 0) {
                variable->unit = reading->units[k];
                variable->has_unit = true;
            }
        }
    }
}

static enum oto_status parse(struct reading *reading, const char *path, const char *xml, size_t bytes, struct oto_error *error)
{
    XML_SetUserData(reading->parser, reading);
    XML_SetElementHandler(reading->parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(reading->parser, on_doctype);
    if (XML_Parse(reading->parser, xml, (int)bytes, 1) == XML_STATUS_OK) {
        resolve_units(reading);
        return OTO_OK;
    }
    if (reading->has_doctype) {
        return oto_fail(error, OTO_INVALID, "%.200s: modelDescription.xml has a document type; none is accepted", path);
    }
    return reading->no_memory
               ? oto_fail(error, OTO_LIMIT, "%.200s: modelDescription.xml has more units or types than %u", path, MOST_TYPES)
               : oto_fail(error, OTO_INVALID, "%.200s: modelDescription.xml:%lu:%lu: %s", path,
                          (unsigned long)XML_GetCurrentLineNumber(reading->parser),
                          (unsigned long)XML_GetCurrentColumnNumber(reading->parser) + 1,
                          XML_ErrorString(XML_GetErrorCode(reading->parser)));
}

enum oto_status fmu_description_read(const char *path, const char *xml, size_t bytes, struct fmu_description *description,
                                     struct oto_error *error)
{
    struct reading reading = {.parser = XML_ParserCreate(NULL), .description = description};
    if (reading.parser == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read %.200s", path);
    }
    const enum oto_status status = parse(&reading, path, xml, bytes, error);
    XML_ParserFree(reading.parser);
    free(reading.units);
    free(reading.types);
    if (status != OTO_OK) {
        return status;
    }
    if (description->version == 0) {
        return oto_fail(error, OTO_UNSUPPORTED, "%.200s: its fmiVersion is not known; 2.0 and 3.0 are accepted", path);
    }
    if (!description->is_co_simulation || description->identifier[0] == '\0') {
        return oto_fail(error, OTO_UNSUPPORTED, "%.200s is no FMU for co-simulation; FMUs with a CoSimulation element are accepted", path);
    }
    return OTO_OK;
}
