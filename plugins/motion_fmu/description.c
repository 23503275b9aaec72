#include "description.h"

#include <expat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_UNITS 4096u
#define MOST_TYPES 16384u
#define MOST_SIZES 16384u /* unsigned numbers that may be sizes of arrays */
#define MOST_DEPTH 64u    /* of nested elements; expat keeps 150 bytes for each */
#define NO_POWER 127      /* of a base unit: no unit has it */

/* A declared type, of which only the unit is needed. */
struct type {
    char name[FMU_NAME_BYTES];
    char unit[64];
};

/* An unsigned number of the FMU by its value reference: it may be the size of an array (FMI 3.0 section 2.4.7.5.1). */
struct size {
    uint32_t reference, value;
};

enum match { MATCH_NONE = 0, MATCH_ARRAY, MATCH_NAME }; /* of a wanted name: names an element of the variable, or the variable */

/* The variable whose element is open. */
struct open_variable {
    struct fmu_variable facts;
    uint32_t depth;            /* of its element; 0: none is open */
    uint32_t size_is_variable; /* bit i: dimensions[i] is a value reference */
    char *start;
    enum match matches[FMU_VARIABLES];
};

struct reading {
    XML_Parser parser;
    struct fmu_description *description;
    struct fmu_unit *units;
    struct type *types;
    struct size *sizes;
    uint32_t unit_count, type_count, size_count;
    uint32_t depth;
    bool in_unit, in_variables;
    enum oto_status status; /* of the problem that stopped the parser */
    const char *problem;    /* NULL: none */
    struct type *type; /* the declared type whose element is open */
    struct open_variable open;
    char *starts[FMU_VARIABLES]; /* start values of the wanted arrays */
    uint32_t size_is_variable[FMU_VARIABLES];
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

static void stop(struct reading *reading, enum oto_status status, const char *problem)
{
    reading->status = status;
    reading->problem = problem;
    (void)XML_StopParser(reading->parser, XML_FALSE);
}

static bool is_true(const char *text)
{
    return text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
}

static double number(const char *text, double otherwise)
{
    return text != NULL ? strtod(text, NULL) : otherwise;
}

/* UINT32_MAX, which is no size and no value reference, stands for a text that is no whole number below it. */
static uint32_t whole_number(const char *text)
{
    char *end = NULL;
    const unsigned long long value =
        text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : UINT32_MAX;
    return end != NULL && *end == '\0' && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static int8_t power(const char *text)
{
    const double value = number(text, 0.0);
    return fabs(value) < NO_POWER && value == trunc(value) ? (int8_t)value : NO_POWER;
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
    if (count >= most) {
        stop(reading, OTO_LIMIT, "more units, types or sizes than are accepted (4096, 16384 and 16384)");
        return NULL;
    }
    void *grown = realloc(items, (count + 64) * bytes);
    if (grown == NULL) {
        stop(reading, OTO_NO_MEMORY, "there is no memory for it");
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
        unit->powers[i] = power(attribute(attributes, names[i]));
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

static enum fmu_type type_named(const char *element, int version)
{
    static const struct {
        const char *name;
        enum fmu_type type;
    } types[] = {{"Real", FMU_FLOAT64},    {"Float64", FMU_FLOAT64}, {"Float32", FMU_FLOAT32}, {"Integer", FMU_INT32},
                 {"Int8", FMU_INT8},       {"UInt8", FMU_UINT8},     {"Int16", FMU_INT16},     {"UInt16", FMU_UINT16},
                 {"Int32", FMU_INT32},     {"UInt32", FMU_UINT32},   {"Int64", FMU_INT64},     {"UInt64", FMU_UINT64},
                 {"Boolean", FMU_BOOLEAN}};
    if (strcmp(element, "Enumeration") == 0) {
        return version == 2 ? FMU_INT32 : FMU_INT64;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(element, types[i].name) == 0) {
            return types[i].type;
        }
    }
    return FMU_OTHER;
}

static bool is_float(enum fmu_type type)
{
    return type == FMU_FLOAT64 || type == FMU_FLOAT32;
}

/* ---- variables ---- */

/* The length of the array's name before "[i,j]", 1 or more; 0: the name has no indices. `indices` may be NULL. */
static size_t array_name_length(const char *name, uint32_t *indices, uint32_t *count)
{
    const char *open = strrchr(name, '[');
    const char *at = open;
    *count = 0;
    while (at != NULL && (*at == '[' || *at == ',') && *count < FMU_RANK) {
        char *end = NULL;
        const unsigned long index = at[1] >= '1' && at[1] <= '9' ? strtoul(at + 1, &end, 10) : 0;
        if (index == 0 || index > FMU_ELEMENTS) {
            return 0;
        }
        if (indices != NULL) {
            indices[*count] = (uint32_t)index;
        }
        (*count)++;
        at = end;
    }
    return at != NULL && at[0] == ']' && at[1] == '\0' ? (size_t)(open - name) : 0;
}

static enum match match_of(const struct fmu_description *description, const char *wanted, const char *name)
{
    uint32_t count = 0;
    if (strcmp(wanted, name) == 0) {
        return MATCH_NAME;
    }
    const size_t length = description->version == 3 ? array_name_length(wanted, NULL, &count) : 0;
    return length > 0 && strlen(name) == length && strncmp(wanted, name, length) == 0 ? MATCH_ARRAY : MATCH_NONE;
}

/* The name of the open variable, or an alias of it. */
static void take_name(struct reading *reading, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < reading->description->count; i++) {
        const enum match match = match_of(reading->description, reading->description->variables[i].name, name);
        if (match > reading->open.matches[i]) {
            reading->open.matches[i] = match;
        }
    }
}

static bool is_input(const char **attributes)
{
    const char *causality = attribute(attributes, "causality");
    return causality != NULL && strcmp(causality, "input") == 0;
}

/* A parameter or an input, or a local variable with a start value (`initial`). */
static bool is_settable(const char **attributes)
{
    const char *causality = attribute(attributes, "causality");
    return attribute(attributes, "initial") != NULL ||
           (causality != NULL && (strcmp(causality, "parameter") == 0 || strcmp(causality, "input") == 0 ||
                                  strcmp(causality, "structuralParameter") == 0));
}

static void take_variable_type(struct reading *reading, const char *element, const char **attributes)
{
    struct fmu_variable *facts = &reading->open.facts;
    const char *variability = attribute(attributes, "variability");
    facts->type = type_named(element, reading->description->version);
    facts->is_discrete = variability != NULL ? strcmp(variability, "continuous") != 0 : !is_float(facts->type);
    take_text(attribute(attributes, "unit"), facts->unit_name, sizeof facts->unit_name);
    take_text(attribute(attributes, "declaredType"), facts->declared_type, sizeof facts->declared_type);
}

static void take_size(struct reading *reading, uint32_t reference, const char *start)
{
    struct size *sizes = grow(reading, reading->sizes, reading->size_count, MOST_SIZES, sizeof *sizes);
    if (sizes != NULL) {
        reading->sizes = sizes;
        sizes[reading->size_count++] = (struct size){reference, whole_number(start)};
    }
}

static void begin_variable(struct reading *reading, const char *element, const char **attributes)
{
    struct open_variable *open = &reading->open;
    const char *start = attribute(attributes, "start");
    free(open->start);
    memset(open, 0, sizeof *open);
    open->depth = reading->depth;
    open->facts.is_found = true;
    open->facts.is_settable = is_settable(attributes);
    open->facts.is_input = is_input(attributes);
    open->facts.reference = whole_number(attribute(attributes, "valueReference"));
    open->start = start != NULL ? strdup(start) : NULL;
    take_variable_type(reading, element, attributes);
    if (open->facts.type == FMU_UINT64 && start != NULL) {
        take_size(reading, open->facts.reference, start);
    }
    take_name(reading, attribute(attributes, "name"));
    if (open->facts.reference == UINT32_MAX) {
        stop(reading, OTO_INVALID, "the valueReference of a variable is no whole number below 4294967295");
    }
}

static void take_dimension(struct reading *reading, const char **attributes)
{
    struct fmu_variable *facts = &reading->open.facts;
    const char *start = attribute(attributes, "start"), *reference = attribute(attributes, "valueReference");
    if (facts->rank < FMU_RANK) {
        reading->open.size_is_variable |= start == NULL ? 1u << facts->rank : 0;
        facts->dimensions[facts->rank] = whole_number(start != NULL ? start : reference);
    }
    facts->rank++;
}

/* Copies the facts of the variable to the wanted names that match it; one that is the whole name has precedence. */
static void end_variable(struct reading *reading)
{
    struct open_variable *open = &reading->open;
    open->depth = 0;
    for (uint32_t i = 0; i < reading->description->count; i++) {
        struct fmu_variable *wanted = &reading->description->variables[i];
        const bool is_element = open->matches[i] == MATCH_ARRAY && open->facts.rank > 0 && !wanted->is_found;
        if (open->matches[i] != MATCH_NAME && !is_element) {
            continue;
        }
        char name[FMU_NAME_BYTES];
        memcpy(name, wanted->name, sizeof name);
        *wanted = open->facts;
        memcpy(wanted->name, name, sizeof name);
        wanted->is_element = is_element;
        reading->size_is_variable[i] = open->size_is_variable;
        free(reading->starts[i]);
        reading->starts[i] = open->start != NULL ? strdup(open->start) : NULL;
    }
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

static void on_variable_element(struct reading *reading, const char *element, const char **attributes)
{
    const uint32_t depth = reading->open.depth;
    if (depth == 0) {
        begin_variable(reading, element, attributes);
    } else if (reading->description->version == 2 && reading->depth == depth + 1 && type_named(element, 2) != FMU_OTHER) {
        take_variable_type(reading, element, attributes);
    } else if (reading->depth == depth + 1 && strcmp(element, "Dimension") == 0) {
        take_dimension(reading, attributes);
    } else if (reading->depth == depth + 1 && strcmp(element, "Alias") == 0) {
        take_name(reading, attribute(attributes, "name"));
    }
}

static void XMLCALL on_start(void *context, const char *element, const char **attributes)
{
    struct reading *reading = context;
    if (++reading->depth > MOST_DEPTH) {
        stop(reading, OTO_LIMIT, "its elements are nested deeper than 64, the most that is accepted");
    } else if (strcmp(element, "fmiModelDescription") == 0) {
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
    } else if (reading->in_variables) {
        on_variable_element(reading, element, attributes);
    }
}

static void XMLCALL on_end(void *context, const char *element)
{
    struct reading *reading = context;
    if (reading->open.depth == reading->depth) {
        end_variable(reading);
    }
    reading->depth--;
    if (strcmp(element, "Unit") == 0) {
        reading->in_unit = false;
    } else if (strcmp(element, "SimpleType") == 0) {
        reading->type = NULL;
    } else if (strcmp(element, "ModelVariables") == 0) {
        reading->in_variables = false;
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
    stop(reading, OTO_INVALID, "it has a document type; none is accepted");
}

/* The unit of a variable is its own, else that of its declared type. */
static void resolve_units(const struct reading *reading)
{
    struct fmu_variable *all = reading->description->variables;
    for (uint32_t i = 0; i < reading->description->count; i++) {
        struct fmu_variable *variable = &all[i];
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

/* ---- arrays ---- */

static void resolve_sizes(const struct reading *reading, uint32_t index)
{
    struct fmu_variable *variable = &reading->description->variables[index];
    for (uint32_t i = 0; i < variable->rank && i < FMU_RANK; i++) {
        const uint32_t reference = variable->dimensions[i];
        if ((reading->size_is_variable[index] >> i & 1u) == 0) {
            continue;
        }
        variable->dimensions[i] = 0;
        for (uint32_t k = 0; k < reading->size_count; k++) {
            variable->dimensions[i] = reading->sizes[k].reference == reference ? reading->sizes[k].value : variable->dimensions[i];
        }
    }
}

/* Counts the elements and finds the named one; elements are stored row after row. */
static void resolve_element(struct fmu_variable *variable)
{
    uint32_t indices[FMU_RANK], count = 0;
    uint64_t elements = variable->rank <= FMU_RANK ? 1 : 0;
    bool is_inside = array_name_length(variable->name, indices, &count) > 0 && count == variable->rank && variable->is_element;
    uint32_t element = 0;
    for (uint32_t i = 0; i < variable->rank && elements > 0; i++) {
        elements = elements * variable->dimensions[i] <= FMU_ELEMENTS ? elements * variable->dimensions[i] : 0;
        is_inside = is_inside && indices[i] <= variable->dimensions[i];
        element = is_inside ? element * variable->dimensions[i] + indices[i] - 1 : 0;
    }
    variable->elements = (uint32_t)elements;
    variable->element = is_inside ? element : variable->elements;
}

/* One start value is that of all elements. */
static void take_starts(double *values, uint32_t count, const char *text)
{
    uint32_t taken = 0;
    char *end = NULL;
    for (; text != NULL && taken < count; taken++, text = end) {
        values[taken] = strtod(text, &end);
        if (end == text) {
            break;
        }
    }
    for (uint32_t i = 1; taken == 1 && i < count; i++) {
        values[i] = values[0];
    }
}

/* Elements of one array share its values. */
static bool resolve_arrays(const struct reading *reading)
{
    struct fmu_description *description = reading->description;
    struct fmu_variable *all = description->variables;
    size_t total = 1, used = 0;
    for (uint32_t i = 0; i < description->count; i++) {
        if (all[i].rank > 0) {
            resolve_sizes(reading, i);
            resolve_element(&all[i]);
            total += all[i].elements;
        }
    }
    description->array_values = calloc(total, sizeof(double));
    for (uint32_t i = 0; description->array_values != NULL && i < description->count; i++) {
        for (uint32_t k = 0; all[i].rank > 0 && k < i; k++) {
            all[i].values = all[k].values != NULL && all[k].reference == all[i].reference ? all[k].values : all[i].values;
        }
        if (all[i].rank > 0 && all[i].values == NULL) {
            all[i].values = description->array_values + used;
            used += all[i].elements;
            take_starts(all[i].values, all[i].elements, reading->starts[i]);
        }
    }
    return description->array_values != NULL;
}

void fmu_description_free(struct fmu_description *description)
{
    free(description->array_values);
    description->array_values = NULL;
}

static void free_reading(struct reading *reading)
{
    XML_ParserFree(reading->parser);
    free(reading->units);
    free(reading->types);
    free(reading->sizes);
    free(reading->open.start);
    for (uint32_t i = 0; i < FMU_VARIABLES; i++) {
        free(reading->starts[i]);
    }
    free(reading);
}

static enum oto_status parse(struct reading *reading, const char *path, const char *xml, size_t bytes, struct oto_error *error)
{
    XML_SetUserData(reading->parser, reading);
    XML_SetElementHandler(reading->parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(reading->parser, on_doctype);
    if (XML_Parse(reading->parser, xml, (int)bytes, 1) == XML_STATUS_OK) {
        resolve_units(reading);
        return resolve_arrays(reading) ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for the arrays of %.200s", path);
    }
    return oto_fail(error, reading->problem != NULL ? reading->status : OTO_INVALID,
                    "%.200s: modelDescription.xml:%lu:%lu: %s", path,
                    (unsigned long)XML_GetCurrentLineNumber(reading->parser),
                    (unsigned long)XML_GetCurrentColumnNumber(reading->parser) + 1,
                    reading->problem != NULL ? reading->problem : XML_ErrorString(XML_GetErrorCode(reading->parser)));
}

enum oto_status fmu_description_read(const char *path, const char *xml, size_t bytes, struct fmu_description *description,
                                     struct oto_error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    if (reading == NULL || (reading->parser = XML_ParserCreate(NULL)) == NULL) {
        free(reading);
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read %.200s", path);
    }
    reading->description = description;
    const enum oto_status status = parse(reading, path, xml, bytes, error);
    free_reading(reading);
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
