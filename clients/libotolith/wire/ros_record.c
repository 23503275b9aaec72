#include "wire/ros.h"

#include <ctype.h>
#include <stdio.h>

#include "otolith/records.h"
#include "wire/cdr.h"
#include "wire/ros_text.h"

#define NAME_BYTES 96
#define MOST_DEPTH 24 /* dots in a field's name */

/* Consecutive values of one width, in the order of the message. */
struct step {
    uint32_t offset; /* in the payload */
    uint32_t count;  /* number of values; for a text its size in bytes */
    uint32_t width;  /* bytes of a value */
    bool text;
};

struct oto_ros_type {
    char name[NAME_BYTES];
    char *definition;
    bool has_sample_head;
    uint32_t payload_bytes, step_count;
    size_t most_bytes; /* greatest size of a message without its frame_id */
    struct step steps[OTO_RECORD_MAX_FIELDS];
};

const struct oto_record_type oto_ros_head_type = {"head", 0, 0, NULL};

/* Records that are standard messages field by field. */
static const struct {
    const struct oto_record_type *type;
    const char *name;
} standards[] = {{&oto_imu_type, "sensor_msgs/msg/Imu"}, {&oto_mag_type, "sensor_msgs/msg/MagneticField"}};

/* ---- names ---- */

/* Makes a name of a ROS field: [a-z][a-z0-9_]*, without "__" and without "_" at its end. */
static void field_name(const char *from, size_t bytes, char to[OTO_FIELD_NAME_BYTES])
{
    size_t length = 0;
    for (size_t i = 0; i < bytes && length + 3 < OTO_FIELD_NAME_BYTES; i++) {
        const int c = (unsigned char)from[i];
        const bool plain = isascii(c) && isalnum(c);
        if (length == 0 && (!plain || isdigit(c))) {
            to[length++] = 'f';
        }
        if (plain) {
            to[length++] = (char)tolower(c);
        } else if (to[length - 1] != '_') {
            to[length++] = '_';
        }
    }
    length -= length > 1 && to[length - 1] == '_';
    to[length] = '\0';
}

/* Appends a name as a type name to `to`: "fault_label" becomes "FaultLabel". */
static void add_type_name(const char *from, size_t bytes, char to[NAME_BYTES])
{
    size_t length = strlen(to);
    bool upper = true;
    for (size_t i = 0; i < bytes && length + 1 < NAME_BYTES; i++) {
        const int c = (unsigned char)from[i];
        if (isascii(c) && isalnum(c)) {
            to[length++] = (char)(upper ? toupper(c) : c);
        }
        upper = !isascii(c) || !isalnum(c);
    }
    to[length] = '\0';
}

/* ---- the definition ---- */

/* A message while it is made from the field table. */
struct making {
    struct oto_ros_type *ros;
    const struct oto_field *fields;
    FILE *blocks; /* definitions of the messages that it uses */
    bool vector3, quaternion; /* `blocks` needs the definition of this message */
};

/* Fields [first, end) whose names share their first `skip` bytes. */
struct group {
    uint32_t first, end;
    size_t skip;
    char type[NAME_BYTES];
};

static const char *field_type_text(uint32_t type)
{
    static const char *const texts[] = {"", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
                                        "float32", "float64", "string"};
    return type < sizeof texts / sizeof *texts ? texts[type] : "";
}

/* Adds a field to the steps; consecutive values of one width become one step. */
static void add_step(struct oto_ros_type *ros, const struct oto_field *field)
{
    const struct step step = {field->offset, field->count, oto_field_type_bytes(field->type), field->type == OTO_FIELD_TEXT};
    struct step *last = ros->step_count > 0 ? &ros->steps[ros->step_count - 1] : NULL;
    ros->most_bytes += step.text ? 8 + (size_t)step.count : step.width + (size_t)step.width * step.count;
    if (last != NULL && !step.text && !last->text && last->width == step.width &&
        last->offset + last->count * last->width == step.offset) {
        last->count += step.count;
    } else {
        ros->steps[ros->step_count++] = step;
    }
}

/* Unit, axes and text of a field as a comment; a line break would end it. */
static void put_comment(FILE *to, const struct oto_field *field)
{
    const char *const parts[] = {field->unit, field->frame, field->text};
    bool first = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] == NULL || parts[i][0] == '\0') {
            continue;
        }
        (void)fputs(first ? "  # " : "; ", to);
        for (const char *c = parts[i]; *c != '\0'; c++) {
            (void)fputc(isascii((unsigned char)*c) && isprint((unsigned char)*c) ? *c : '?', to);
        }
        first = false;
    }
    (void)fputc('\n', to);
}

static void put_field(struct making *making, FILE *to, const struct oto_field *field, const char *name)
{
    const bool array = field->count > 1 && field->type != OTO_FIELD_TEXT;
    (void)fputs(field_type_text(field->type), to);
    (void)(array ? fprintf(to, "[%u] %s", field->count, name) : fprintf(to, " %s", name));
    put_comment(to, field);
    add_step(making->ros, field);
}

/* The member of a group that begins with field `first`: a field (skip 0), or a group. */
static struct group member_at(const struct making *making, const struct group *group, uint32_t first, size_t *key_bytes)
{
    const char *key = making->fields[first].name + group->skip, *dot = strchr(key, '.');
    struct group member = {.first = first, .end = first + 1};
    *key_bytes = dot != NULL ? (size_t)(dot - key) : strlen(key);
    if (dot != NULL) {
        member.skip = group->skip + *key_bytes + 1;
        while (member.end < group->end &&
               strncmp(making->fields[member.end].name, making->fields[first].name, member.skip) == 0) {
            member.end++;
        }
    }
    return member;
}

/* Finds the field of a group that has the name of the axis and is one double. */
static const struct oto_field *axis_of(const struct making *making, const struct group *group, char axis)
{
    for (uint32_t i = group->first; i < group->end; i++) {
        const struct oto_field *field = &making->fields[i];
        const char *key = field->name + group->skip;
        if (key[0] == axis && key[1] == '\0' && field->type == OTO_FIELD_F64 && field->count == 1) {
            return field;
        }
    }
    return NULL;
}

/* Puts a group x y z as Vector3, or x y z w in any order as Quaternion. False: the group is neither. */
static bool put_geometry(struct making *making, FILE *to, const struct group *group, const char *name)
{
    const uint32_t count = group->end - group->first;
    const struct oto_field *axes[4];
    for (uint32_t i = 0; i < count && i < 4; i++) {
        axes[i] = axis_of(making, group, "xyzw"[i]);
        if (axes[i] == NULL) {
            return false;
        }
    }
    if (count != 3 && count != 4) {
        return false;
    }
    (void)fprintf(to, "geometry_msgs/%s %s", count == 3 ? "Vector3" : "Quaternion", name);
    const struct oto_field whole = {.unit = axes[0]->unit, .frame = axes[0]->frame};
    put_comment(to, &whole);
    *(count == 3 ? &making->vector3 : &making->quaternion) = true;
    for (uint32_t i = 0; i < count; i++) {
        add_step(making->ros, axes[i]);
    }
    return true;
}

static bool put_members(struct making *making, FILE *to, const struct group *group, uint32_t depth);

/* Puts another group as a message type of its own, and adds the definition of that type to the blocks. */
static bool put_nested(struct making *making, FILE *to, struct group *member, const char *name, uint32_t depth)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *block = depth < MOST_DEPTH ? open_memstream(&text, &bytes) : NULL;
    if (block == NULL) {
        return false;
    }
    (void)fprintf(to, "%s %s\n", member->type, name);
    (void)fprintf(block, OTO_ROS_BLOCK_ "%s\n", member->type);
    const bool whole = put_members(making, block, member, depth + 1), put = fclose(block) == 0 && whole;
    if (put) {
        (void)fwrite(text, 1, bytes, making->blocks);
    }
    free(text);
    return put;
}

static bool put_members(struct making *making, FILE *to, const struct group *group, uint32_t depth)
{
    uint32_t number = 0;
    for (uint32_t i = group->first; i < group->end; number++) {
        size_t key_bytes;
        char name[OTO_FIELD_NAME_BYTES], before[OTO_FIELD_NAME_BYTES];
        struct group member = member_at(making, group, i, &key_bytes);
        field_name(making->fields[i].name + group->skip, key_bytes, name);
        for (uint32_t k = group->first; k < i;) { /* two names may become equal as ROS names */
            size_t bytes;
            const struct group other = member_at(making, group, k, &bytes);
            field_name(making->fields[k].name + group->skip, bytes, before);
            if (strcmp(before, name) == 0) {
                (void)snprintf(name, sizeof name, "f%u", number);
            }
            k = other.end;
        }
        memcpy(member.type, group->type, sizeof member.type);
        add_type_name(making->fields[i].name + group->skip, key_bytes, member.type);
        if (member.skip == 0) {
            put_field(making, to, &making->fields[i], name);
        } else if (!put_geometry(making, to, &member, name) && !put_nested(making, to, &member, name, depth)) {
            return false;
        }
        i = member.end;
    }
    return true;
}

/* ---- making ---- */

static const char *standard_name(const struct oto_record_type *type)
{
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
        if (oto_record_type_hash(type) == oto_record_type_hash(standards[i].type)) {
            return standards[i].name;
        }
    }
    return NULL;
}

static bool put_definition(struct making *making, const struct oto_record_type *type)
{
    struct oto_ros_type *ros = making->ros;
    char *blocks = NULL;
    size_t bytes = 0, blocks_bytes = 0;
    struct group all = {.end = type->field_count, .type = "otolith_msgs/"};
    FILE *to = open_memstream(&ros->definition, &bytes);
    making->blocks = open_memstream(&blocks, &blocks_bytes);
    bool good = to != NULL && making->blocks != NULL;
    add_type_name(type->name, strlen(type->name), all.type);
    if (good) {
        (void)fprintf(to, "std_msgs/Header header\n%s", ros->has_sample_head ? "otolith_msgs/SampleHead otolith\n" : "");
        good = put_members(making, to, &all, 0);
    }
    good = making->blocks != NULL && fclose(making->blocks) == 0 && good;
    if (good) {
        (void)fprintf(to, "%s%s%s%s%s", OTO_ROS_HEADER, ros->has_sample_head ? OTO_ROS_SAMPLE_HEAD : "",
                      making->quaternion ? OTO_ROS_QUATERNION : "", making->vector3 ? OTO_ROS_VECTOR3 : "", blocks);
    }
    free(blocks);
    return to != NULL && fclose(to) == 0 && good;
}

enum oto_status oto_ros_type_make(const struct oto_record_type *type, struct oto_ros_type **out, struct oto_error *error)
{
    const char *standard = standard_name(type);
    struct oto_ros_type *ros = type->field_count <= OTO_RECORD_MAX_FIELDS ? calloc(1, sizeof *ros) : NULL;
    *out = NULL;
    if (ros == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the ROS message of record '%s'", type->name);
    }
    ros->has_sample_head = standard == NULL;
    ros->payload_bytes = type->bytes;
    ros->most_bytes = OTO_CDR_START + 8 + 5 + 8 + 24;
    if (standard != NULL) {
        (void)snprintf(ros->name, sizeof ros->name, "%s", standard);
    } else {
        (void)snprintf(ros->name, sizeof ros->name, "otolith_msgs/msg/");
        add_type_name(type->name, strlen(type->name), ros->name);
    }
    struct making making = {.ros = ros, .fields = type->fields};
    if (!put_definition(&making, type)) {
        oto_ros_type_free(ros);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the ROS message of record '%s'", type->name);
    }
    *out = ros;
    return OTO_OK;
}

void oto_ros_type_free(struct oto_ros_type *ros)
{
    if (ros != NULL) {
        free(ros->definition);
        free(ros);
    }
}

const char *oto_ros_type_name(const struct oto_ros_type *ros)
{
    return ros->name;
}

const char *oto_ros_type_definition(const struct oto_ros_type *ros)
{
    return ros->definition;
}

bool oto_ros_type_has_sample_head(const struct oto_ros_type *ros)
{
    return ros->has_sample_head;
}

/* ---- messages ---- */

enum oto_status oto_ros_encode(const struct oto_ros_type *ros, const char *frame_id, const struct oto_sample_head *head,
                               const void *payload, struct oto_buffer *to)
{
    const unsigned char *from = payload;
    const size_t frame_bytes = strlen(frame_id);
    struct oto_cdr_writer writer;
    if (oto_cdr_begin(&writer, to, ros->most_bytes + frame_bytes) != OTO_OK) {
        return OTO_NO_MEMORY;
    }
    const bool in_range = oto_cdr_put_stamp(&writer, head->t_ns);
    oto_cdr_put_text(&writer, frame_id, frame_bytes);
    if (ros->has_sample_head) {
        oto_cdr_put(&writer, 8, &head->seq, sizeof head->seq);
        oto_cdr_put(&writer, 8, &head->sensor_time_ns, sizeof head->sensor_time_ns);
        oto_cdr_put_u32(&writer, head->flags);
    }
    for (uint32_t i = 0; i < ros->step_count; i++) {
        const struct step *step = &ros->steps[i];
        if (step->text) {
            const char *text = (const char *)from + step->offset;
            oto_cdr_put_text(&writer, text, strnlen(text, step->count));
        } else {
            oto_cdr_put(&writer, step->width, from + step->offset, (size_t)step->width * step->count);
        }
    }
    to->bytes = writer.at;
    return in_range ? OTO_OK : OTO_RANGE;
}

static bool get_header(struct oto_cdr_reader *reader, struct oto_sample_head *head)
{
    const char *frame_id;
    uint32_t length, nanosec = 0;
    int32_t sec = 0;
    const bool whole = oto_cdr_get(reader, 4, &sec, sizeof sec) && oto_cdr_get(reader, 4, &nanosec, sizeof nanosec) &&
                       oto_cdr_get_text(reader, &frame_id, &length) && nanosec < OTO_NS_PER_S;
    head->t_ns = (int64_t)sec * OTO_NS_PER_S + nanosec;
    return whole;
}

static bool get_step(struct oto_cdr_reader *reader, const struct step *step, unsigned char *to)
{
    const char *text;
    uint32_t length;
    if (!step->text) {
        return oto_cdr_get(reader, step->width, to + step->offset, (size_t)step->width * step->count);
    }
    if (!oto_cdr_get_text(reader, &text, &length) || length > step->count) {
        return false;
    }
    memcpy(to + step->offset, text, length);
    return true;
}

enum oto_status oto_ros_decode(const struct oto_ros_type *ros, const void *data, size_t bytes, struct oto_sample_head *head,
                               void *payload)
{
    struct oto_cdr_reader reader;
    *head = (struct oto_sample_head){.bytes = ros->payload_bytes};
    if (ros->payload_bytes > 0) {
        memset(payload, 0, ros->payload_bytes);
    }
    bool good = oto_cdr_open(&reader, data, bytes) && get_header(&reader, head);
    if (good && ros->has_sample_head) {
        good = oto_cdr_get(&reader, 8, &head->seq, sizeof head->seq) &&
               oto_cdr_get(&reader, 8, &head->sensor_time_ns, sizeof head->sensor_time_ns) &&
               oto_cdr_get(&reader, 4, &head->flags, sizeof head->flags);
    }
    for (uint32_t i = 0; i < ros->step_count && good; i++) {
        good = get_step(&reader, &ros->steps[i], payload);
    }
    return good ? OTO_OK : OTO_CORRUPT;
}
