/* modelDescription.xml of an exported sensor (FMI 3.0 section 2.4). */
#include "export/fmu.h"

#include <string.h>

#include "fmu/fmu_model.h"
#include "otolith/version.h"

/* Base units of the units that records have. A unit that is not here is named without one. */
static const struct {
    const char *name, *base;
} units[] = {{"m", "m=\"1\""},
             {"m/s", "m=\"1\" s=\"-1\""},
             {"m/s^2", "m=\"1\" s=\"-2\""},
             {"m^2", "m=\"2\""},
             {"m^2/s^2", "m=\"2\" s=\"-2\""},
             {"m^2/s^4", "m=\"2\" s=\"-4\""},
             {"rad", "rad=\"1\""},
             {"rad/s", "s=\"-1\" rad=\"1\""},
             {"rad/s^2", "s=\"-2\" rad=\"1\""},
             {"rad^2", "rad=\"2\""},
             {"rad^2/s^2", "s=\"-2\" rad=\"2\""},
             {"deg", "rad=\"1\" factor=\"0.017453292519943295\""},
             {"T", "kg=\"1\" s=\"-2\" A=\"-1\""},
             {"T^2", "kg=\"2\" s=\"-4\" A=\"-2\""},
             {"Pa", "kg=\"1\" m=\"-1\" s=\"-2\""},
             {"Pa^2", "kg=\"2\" m=\"-2\" s=\"-4\""},
             {"degC", "K=\"1\" offset=\"273.15\""},
             {"degC^2", "K=\"2\""},
             {"s", "s=\"1\""},
             {"ns", "s=\"1\" factor=\"1e-9\""}};
enum { UNITS = sizeof units / sizeof *units, MOST_OTHER_UNITS = 64 };

static void put_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            (void)fputs("&lt;", to);
            break;
        case '&':
            (void)fputs("&amp;", to);
            break;
        case '"':
            (void)fputs("&quot;", to);
            break;
        default:
            (void)fputc(*text, to);
        }
    }
}

static bool is_known_unit(const char *name)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Units of the record that have no base unit here, each once. */
static void put_other_units(FILE *to, const struct oto_record_type *type)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const char *name = type->fields[i].unit;
        bool first = fmu_is_float(&type->fields[i]) && name[0] != '\0' && strcmp(name, "1") != 0 && !is_known_unit(name);
        for (uint32_t k = 0; k < i; k++) {
            first = first && (strcmp(type->fields[k].unit, name) != 0 || !fmu_is_float(&type->fields[k]));
        }
        if (first) {
            (void)fputs("    <Unit name=\"", to);
            put_text(to, name);
            (void)fputs("\"/>\n", to);
        }
    }
}

static void put_unit_attribute(FILE *to, const char *unit)
{
    if (unit[0] != '\0' && strcmp(unit, "1") != 0) {
        (void)fputs(" unit=\"", to);
        put_text(to, unit);
        (void)fputc('"', to);
    }
}

static void put_inputs(FILE *to)
{
    static const struct {
        const char *name, *unit;
        int start;
        const char *text;
    } inputs[] = {
#define INPUT(name, unit, start, text) {name, unit, start, text},
        FMU_INPUT_TABLE(INPUT)
#undef INPUT
    };
    for (uint32_t i = 0; i < FMU_INPUT_COUNT; i++) {
        (void)fprintf(to, "    <Float64 name=\"%s\" valueReference=\"%u\" causality=\"input\" variability=\"continuous\" start=\"%d\"", inputs[i].name,
                      FMU_INPUTS + i, inputs[i].start);
        put_unit_attribute(to, inputs[i].unit);
        (void)fprintf(to, " description=\"%s\"/>\n", inputs[i].text);
    }
}

static void put_head(FILE *to)
{
    static const char *const head[][2] = {{"sample.seq", "number of the newest sample; 0: there is none yet"},
                                          {"sample.t_ns", "its time"},
                                          {"sample.sensor_time_ns", "reading of the sensor's own clock"},
                                          {"sample.flags", "its flags"}};
    for (uint32_t i = 0; i < sizeof head / sizeof *head; i++) {
        (void)fprintf(to, "    <Int64 name=\"%s\" valueReference=\"%u\" causality=\"output\" variability=\"discrete\" initial=\"calculated\" description=\"%s\"/>\n",
                      head[i][0], FMU_SEQ + i, head[i][1]);
    }
}

static void put_element(FILE *to, const struct fmu_element *element, uint32_t number)
{
    const struct oto_field *field = element->field;
    (void)fprintf(to, "    <%s name=\"%s", fmu_is_float(field) ? "Float64" : "Int64", field->name);
    if (field->count > 1) {
        (void)fprintf(to, "[%u]", element->index + 1);
    }
    (void)fprintf(to, "\" valueReference=\"%u\" causality=\"output\" variability=\"discrete\" initial=\"calculated\"", FMU_FIELDS + number);
    if (fmu_is_float(field)) {
        put_unit_attribute(to, field->unit);
    }
    (void)fputs(" description=\"", to);
    put_text(to, field->text);
    (void)fputs("\"/>\n", to);
}

static void put_structure(FILE *to, const struct oto_record_type *type)
{
    static const char *const kinds[] = {"Output", "InitialUnknown"};
    struct fmu_element element;
    (void)fputs("  <ModelStructure>\n", to);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (unsigned reference = FMU_SEQ; reference <= FMU_FLAGS; reference++) {
            (void)fprintf(to, "    <%s valueReference=\"%u\"/>\n", kinds[k], reference);
        }
        for (uint32_t i = 0; fmu_element_at(type, i, &element); i++) {
            (void)fprintf(to, "    <%s valueReference=\"%u\"/>\n", kinds[k], FMU_FIELDS + i);
        }
    }
    (void)fputs("  </ModelStructure>\n", to);
}

void fmu_description_write(FILE *to, const struct oto_sim_channel *sensor, const char *identifier, const char *token, double tick_s)
{
    struct fmu_element element;
    (void)fprintf(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription fmiVersion=\"3.0\" modelName=\"%s\" instantiationToken=\"%s\" "
                      "generationTool=\"otolith %s\" variableNamingConvention=\"structured\">\n", sensor->node, token, OTO_VERSION_STRING);
    (void)fprintf(to, "  <CoSimulation modelIdentifier=\"%s\" canHandleVariableCommunicationStepSize=\"true\" fixedInternalStepSize=\"%.17g\" "
                      "canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\"/>\n  <UnitDefinitions>\n", identifier, tick_s);
    for (size_t i = 0; i < UNITS; i++) {
        (void)fprintf(to, "    <Unit name=\"%s\"><BaseUnit %s/></Unit>\n", units[i].name, units[i].base);
    }
    put_other_units(to, sensor->type);
    (void)fprintf(to, "  </UnitDefinitions>\n  <DefaultExperiment startTime=\"0\" stepSize=\"%.17g\"/>\n  <ModelVariables>\n"
                      "    <Float64 name=\"time\" valueReference=\"%u\" causality=\"independent\" variability=\"continuous\" unit=\"s\"/>\n", tick_s, FMU_TIME);
    put_inputs(to);
    put_head(to);
    for (uint32_t i = 0; fmu_element_at(sensor->type, i, &element); i++) {
        put_element(to, &element, i);
    }
    (void)fputs("  </ModelVariables>\n", to);
    put_structure(to, sensor->type);
    (void)fputs("</fmiModelDescription>\n", to);
}
