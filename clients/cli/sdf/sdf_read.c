/* Reads descriptions from an XML tree by the table of elements. */
#include <math.h>

#include "otolith/detmath.h"
#include "document/document.h"
#include "otolith/vecmath.h"
#include "sdf/sdf_value.h"

enum { MAX_WARNINGS = 50 };

struct reader {
    oto_warn_function warn;
    void *warn_context;
    unsigned warnings;
    struct oto_sdf_world *world;
    struct oto_error *error;
};

__attribute__((format(printf, 3, 4))) static void warn(struct reader *reader, const struct oto_xml_element *element,
                                                       const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    if (reader->warn == NULL || ++reader->warnings > MAX_WARNINGS + 1) {
        return;
    }
    int used =
        snprintf(sentence, sizeof sentence, "%.200s:%u:%u: warning: ", element->file, element->line, element->column);
    if (reader->warnings > MAX_WARNINGS) {
        (void)snprintf(sentence + used, sizeof sentence - (size_t)used, "and more that is left out from here on");
    } else {
        va_start(arguments, format);
        (void)vsnprintf(sentence + used, sizeof sentence - (size_t)used, format, arguments);
        va_end(arguments);
    }
    reader->warn(reader->warn_context, sentence);
}

/* ---- unknown elements ---- */

static void warn_unknown(struct reader *reader, const struct oto_xml_element *child, const struct sdf_element *table)
{
    const char *names[32];
    uint32_t count = 0;
    for (uint32_t i = 0; table != NULL && i < table->child_count && i < 32; i++) {
        names[count++] = table->children[i].name;
    }
    const char *near = count > 0 ? oto_nearest_word(child->name, names, count) : NULL;
    warn(reader, child, "<%.64s> is not known in <%.64s> and is left out%s%s%s", child->name, child->parent->name,
         near != NULL ? "; did you mean <" : "", near != NULL ? near : "", near != NULL ? ">?" : "");
}

static bool is_one_of(const char *name, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (known[i] != NULL && strcmp(name, known[i]) == 0) {
            return true;
        }
    }
    return strncmp(name, "xmlns", 5) == 0 && (name[5] == ':' || name[5] == '\0');
}

static void warn_attributes(struct reader *reader, const struct oto_xml_element *element, const char *const *known,
                            size_t count)
{
    for (uint32_t i = 0; i < element->attribute_count; i++) {
        const char *name = element->attributes[i].name;
        if (!is_one_of(name, known, count)) {
            warn(reader, element, "the attribute '%.64s' of <%.64s> is not known and is left out", name, element->name);
        }
    }
}

/* ---- values ---- */

/* The rotation format of a <pose>. */
struct pose_form {
    bool is_quaternion;
    int64_t in_degrees;
};

static enum oto_status read_pose_form(struct reader *reader, const struct oto_xml_element *element,
                                      struct pose_form *form)
{
    static const char *const known[] = {"degrees", "rotation_format", "relative_to"};
    static const struct sdf_form flag = {"pose degrees", SDF_FLAG, 1, 8, 0, 0, {NULL, 0}};
    const char *degrees = oto_xml_attribute(element, "degrees");
    const char *format = oto_xml_attribute(element, "rotation_format");
    const char *relative_to = oto_xml_attribute(element, "relative_to");
    *form = (struct pose_form){.is_quaternion = format != NULL && strcmp(format, "quat_xyzw") == 0};
    warn_attributes(reader, element, known, 3);
    if (format != NULL && !form->is_quaternion && strcmp(format, "euler_rpy") != 0) {
        return oto_xml_fail(element, reader->error, OTO_INVALID,
                            "rotation_format is '%.64s', expected euler_rpy or quat_xyzw", format);
    }
    if (relative_to != NULL && relative_to[0] != '\0') {
        warn(reader, element, "the pose is taken on the vehicle, not relative to '%.64s'", relative_to);
    }
    return degrees != NULL ? sdf_text_read(&flag, element, degrees, &form->in_degrees, reader->error) : OTO_OK;
}

static enum oto_status read_pose(struct reader *reader, const struct oto_xml_element *element, struct oto_sdf_imu *imu)
{
    struct pose_form form;
    double pose[7] = {0};
    enum oto_status status = read_pose_form(reader, element, &form);
    if (status != OTO_OK || element->text[0] == '\0') {
        return status;
    }
    const struct sdf_form numbers = {"pose", SDF_NUMBER, form.is_quaternion ? 7 : 6, 8, -1e12, 1e12, {NULL, 0}};
    status = sdf_text_read(&numbers, element, element->text, pose, reader->error);
    if (status == OTO_OK && form.is_quaternion) {
        const oto_quat q = oto_quat_make(pose[6], pose[3], pose[4], pose[5]);
        if (!oto_quat_is_unit(q, 1e-3)) {
            return oto_xml_fail(element, reader->error, OTO_INVALID, "the quaternion of <pose> has not the length 1");
        }
        oto_vec3_to_array(oto_rpy_from_quat(oto_quat_normalize(q)), pose + 3);
    }
    for (int i = 0; status == OTO_OK && i < 3; i++) {
        imu->position_m[i] = pose[i];
        imu->rpy_deg[i] = form.in_degrees != 0 && !form.is_quaternion ? pose[3 + i] : pose[3 + i] / OTO_DEG;
        if (fabs(pose[i]) > 1000 || fabs(imu->rpy_deg[i]) > 360) {
            status = oto_xml_fail(element, reader->error, OTO_RANGE,
                                  "<pose> has %g m and %g deg; up to 1000 m and 360 deg are accepted", pose[i],
                                  imu->rpy_deg[i]);
        }
    }
    return status;
}

static enum oto_status read_section(struct reader *reader, const struct sdf_element *table,
                                    const struct oto_xml_element *element, void *base);

/* Reads the type of a noise, an attribute or an element. SDF requires a type; Unity's form has none. */
static enum oto_status read_noise(struct reader *reader, const struct oto_xml_element *element, bool is_unity,
                                  struct oto_sdf_noise *noise)
{
    const bool has_attribute = oto_xml_attribute(element, "type") != NULL;
    bool has_element = false;
    for (const struct oto_xml_element *child = element->first_child; child != NULL; child = child->next) {
        has_element = has_element || strcmp(child->name, "type") == 0;
    }
    if (has_attribute && has_element) {
        return oto_xml_fail(element, reader->error, OTO_EXISTS,
                            "<noise> has its type twice, expected the attribute or the element");
    }
    const enum oto_status status = read_section(reader, &sdf_noise, element, noise);
    if (status == OTO_OK && !has_attribute && !has_element) {
        noise->type = is_unity ? 1 : 0;
        warn(reader, element, "<noise> has no type: it is %s", is_unity ? "gaussian" : "none, as SDF has it");
    }
    return status;
}

static enum oto_status read_leaf(struct reader *reader, const struct sdf_element *row,
                                 const struct oto_xml_element *element, void *base)
{
    const struct sdf_form form = {row->name, row->kind, row->count, 8, row->minimum, row->maximum, row->words};
    for (const struct oto_xml_element *child = element->first_child; child != NULL; child = child->next) {
        warn_unknown(reader, child, NULL);
    }
    return sdf_text_read(&form, element, element->text, (char *)base + row->offset, reader->error);
}

static enum oto_status read_attribute(struct reader *reader, const struct sdf_element *row,
                                      const struct oto_xml_element *element, void *base)
{
    const char *text = row->attribute != NULL ? oto_xml_attribute(element, row->attribute) : NULL;
    const struct sdf_form form = {row->attribute, SDF_WORD, 1, 8, 0, 0, row->attribute_words};
    const struct oto_value scalar = {.kind = OTO_VALUE_SCALAR,
                                     .quoted = true,
                                     .file = element->file,
                                     .line = element->line,
                                     .column = element->column,
                                     .text = text};
    warn_attributes(reader, element, &row->attribute, 1);
    return text != NULL ? sdf_scalar_read(&form, &scalar, 0, (char *)base + row->attribute_offset, reader->error)
                        : OTO_OK;
}

static enum oto_status read_element(struct reader *reader, const struct sdf_element *row,
                                    const struct oto_xml_element *element, void *base)
{
    if (row->kind == SDF_POSE) {
        return read_pose(reader, element, base);
    }
    if (row->kind == SDF_NOISE_ALL) {
        struct oto_sdf_noise *all = (struct oto_sdf_noise *)(void *)((char *)base + row->offset);
        struct oto_sdf_noise one = {0};
        enum oto_status status = read_noise(reader, element, true, &one);
        for (int axis = 0; status == OTO_OK && axis < OTO_SDF_AXES; axis++) {
            all[axis] = one;
        }
        return status;
    }
    if (row->kind == SDF_SECTION) {
        return row->attribute != NULL ? read_noise(reader, element, false, base)
                                      : read_section(reader, row, element, (char *)base + row->offset);
    }
    const enum oto_status status = read_attribute(reader, row, element, base);
    return status == OTO_OK ? read_leaf(reader, row, element, base) : status;
}

static const struct sdf_element *find_row(const struct sdf_element *table, const char *name)
{
    for (uint32_t i = 0; i < table->child_count; i++) {
        if (strcmp(table->children[i].name, name) == 0) {
            return &table->children[i];
        }
    }
    return NULL;
}

static enum oto_status read_section(struct reader *reader, const struct sdf_element *table,
                                    const struct oto_xml_element *element, void *base)
{
    const struct oto_xml_element *seen[32] = {NULL};
    enum oto_status status = OTO_OK;
    if (element->text[0] != '\0') {
        warn(reader, element, "the text '%.32s' in <%.64s> is left out", element->text, element->name);
    }
    if (table != &sdf_sensor) {
        status = read_attribute(reader, table, element, base);
    }
    for (const struct oto_xml_element *child = element->first_child; child != NULL && status == OTO_OK;
         child = child->next) {
        const struct sdf_element *row = find_row(table, child->name);
        if (row == NULL) {
            warn_unknown(reader, child, table);
            continue;
        }
        const size_t index = (size_t)(row - table->children);
        if (seen[index] != NULL) {
            return oto_xml_fail(child, reader->error, OTO_EXISTS, "<%s> occurs twice, first at %u:%u", child->name,
                                seen[index]->line, seen[index]->column);
        }
        seen[index] = child;
        status = read_element(reader, row, child, base);
    }
    return status;
}

/* ---- sensors and what holds them ---- */

static bool is_name_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '-';
}

/* Reads a name and replaces characters that a world file does not accept by '_'. */
static void read_name(struct reader *reader, const struct oto_xml_element *element, char *name, size_t bytes)
{
    const char *given = oto_xml_attribute(element, "name");
    size_t length = 0;
    if (given == NULL || given[0] == '\0') {
        return;
    }
    for (; given[length] != '\0' && length + 1 < bytes; length++) {
        name[length] = is_name_letter(given[length]) ? given[length] : '_';
    }
    name[length] = '\0';
    if (strcmp(name, given) != 0) {
        warn(reader, element, "the name '%.64s' becomes '%s'", given, name);
    }
}

static enum oto_status check_unique(const struct reader *reader, const struct oto_xml_element *element,
                                    const struct oto_sdf_imu *imu)
{
    for (uint32_t i = 0; i < reader->world->count; i++) {
        const struct oto_sdf_imu *other = &reader->world->imus[i];
        if (strcmp(other->vehicle, imu->vehicle) == 0 && strcmp(other->name, imu->name) == 0) {
            return oto_xml_fail(element, reader->error, OTO_EXISTS,
                                "two sensors of '%s' are called '%s', the first at %u:%u", imu->vehicle, imu->name,
                                other->line, other->column);
        }
        if (imu->topic[0] != '\0' && strcmp(other->topic, imu->topic) == 0) {
            return oto_xml_fail(element, reader->error, OTO_EXISTS,
                                "two sensors have the topic '%s', the first at %u:%u; each needs its own", imu->topic,
                                other->line, other->column);
        }
    }
    return OTO_OK;
}

static enum oto_status read_sensor(struct reader *reader, const struct oto_xml_element *element, const char *vehicle)
{
    static const char *const known[] = {"name", "type"};
    const char *type = oto_xml_attribute(element, "type"), *name = oto_xml_attribute(element, "name");
    struct oto_sdf_imu imu = oto_sdf_imu_default;
    if (type == NULL || name == NULL || name[0] == '\0') {
        return oto_xml_fail(element, reader->error, OTO_INVALID,
                            "<sensor> has no %s, expected <sensor name=\"…\" type=\"imu\">",
                            type == NULL ? "type" : "name");
    }
    if (strcmp(type, "imu") != 0) {
        warn(reader, element, "the sensor '%.64s' of type '%.64s' is left out: only imu is known", name, type);
        return OTO_OK;
    }
    warn_attributes(reader, element, known, 2);
    (void)snprintf(imu.vehicle, sizeof imu.vehicle, "%s", vehicle);
    read_name(reader, element, imu.name, sizeof imu.name);
    if (strcmp(imu.name, "motion") == 0) {
        return oto_xml_fail(element, reader->error, OTO_INVALID,
                            "a sensor is called 'motion', the name of a vehicle's motion, expected another");
    }
    imu.line = element->line;
    imu.column = element->column;
    enum oto_status status = read_section(reader, &sdf_sensor, element, &imu);
    if (status == OTO_OK) {
        status = check_unique(reader, element, &imu);
    }
    if (status == OTO_OK && reader->world->count == OTO_SDF_MAX_IMUS) {
        return oto_xml_fail(element, reader->error, OTO_LIMIT, "more than %d sensors, the most that is accepted",
                            OTO_SDF_MAX_IMUS);
    }
    if (status == OTO_OK && oto_sdf_world_add(reader->world, &imu) == NULL) {
        return oto_fail(reader->error, OTO_NO_MEMORY, "out of memory");
    }
    return status;
}

static enum oto_status read_container(struct reader *reader, const struct oto_xml_element *element, const char *vehicle)
{
    static const char *const containers[] = {"world", "model", "link"};
    char own[OTO_SDF_NAME_BYTES];
    enum oto_status status = OTO_OK;
    (void)snprintf(own, sizeof own, "%s", vehicle);
    if (strcmp(element->name, "model") == 0) {
        read_name(reader, element, own, sizeof own);
    }
    if (strcmp(element->name, "world") == 0) {
        read_name(reader, element, reader->world->name, sizeof reader->world->name);
    }
    for (const struct oto_xml_element *child = element->first_child; child != NULL && status == OTO_OK;
         child = child->next) {
        if (strcmp(child->name, "sensor") == 0) {
            status = read_sensor(reader, child, own);
        } else if (is_one_of(child->name, containers, 3)) {
            status = read_container(reader, child, own);
        } else {
            warn_unknown(reader, child, NULL);
        }
    }
    return status;
}

enum oto_status oto_sdf_from_xml(const struct oto_xml *xml, oto_warn_function warn_function, void *warn_context,
                                 struct oto_sdf_world *world, struct oto_error *error)
{
    static const char *const roots[] = {"sdf", "world", "model", "link"};
    const struct oto_xml_element *root = oto_xml_root(xml);
    struct reader reader = {.warn = warn_function, .warn_context = warn_context, .world = world, .error = error};
    enum oto_status status;
    *world = (struct oto_sdf_world){.name = "sdf"};
    if (strcmp(root->name, "sensor") == 0) {
        status = read_sensor(&reader, root, oto_sdf_imu_default.vehicle);
    } else if (is_one_of(root->name, roots, 4)) {
        status = read_container(&reader, root, oto_sdf_imu_default.vehicle);
    } else {
        status =
            oto_xml_fail(root, error, OTO_INVALID, "the document is a <%.64s>, expected <sensor> or <sdf>", root->name);
    }
    if (status == OTO_OK && world->count == 0) {
        status = oto_xml_fail(root, error, OTO_INVALID, "there is no sensor of type imu in <%.64s>", root->name);
    }
    if (status != OTO_OK) {
        oto_sdf_world_finish(world);
    }
    return status;
}
