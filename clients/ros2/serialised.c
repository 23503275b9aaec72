#include "serialised.h"

#include <stdlib.h>
#include <string.h>

#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/q_radmin.h>

/* A sample in the form of the caller. */
struct bytes {
    const void *data;
    size_t bytes;
};

/* A sample in the form of Cyclone: padded to a multiple of four bytes, because the protocol reads the padding too. */
struct message {
    struct ddsi_serdata base;
    uint32_t bytes;
    unsigned char data[];
};

static const struct message *message_of(const struct ddsi_serdata *data)
{
    return (const struct message *)data;
}

static struct message *make(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t bytes)
{
    struct message *message = bytes <= UINT32_MAX - 3 ? calloc(1, sizeof *message + (bytes + 3) / 4 * 4) : NULL;
    if (message != NULL) {
        ddsi_serdata_init(&message->base, type, kind);
        message->bytes = (uint32_t)((bytes + 3) / 4 * 4);
    }
    return message;
}

/* ---- samples ---- */

static bool eqkey(const struct ddsi_serdata *a, const struct ddsi_serdata *b)
{
    (void)a;
    (void)b;
    return true; /* no type has a key */
}

static uint32_t get_size(const struct ddsi_serdata *data)
{
    return message_of(data)->bytes;
}

static struct ddsi_serdata *from_ser(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const struct nn_rdata *fragment,
                                     size_t size)
{
    struct message *message = make(type, kind, size);
    uint32_t at = 0;
    for (; message != NULL && fragment != NULL; fragment = fragment->nextfrag) {
        if (fragment->min <= at && fragment->maxp1 > at && fragment->maxp1 <= size) { /* fragments may overlap */
            const unsigned char *payload = NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
            memcpy(message->data + at, payload + at - fragment->min, fragment->maxp1 - at);
            at = fragment->maxp1;
        }
    }
    return message != NULL ? &message->base : NULL;
}

static struct ddsi_serdata *from_ser_iov(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count,
                                         const ddsrt_iovec_t *parts, size_t size)
{
    struct message *message = make(type, kind, size);
    size_t at = 0;
    for (ddsrt_msg_iovlen_t i = 0; message != NULL && i < count && parts[i].iov_len <= size - at; i++) {
        memcpy(message->data + at, parts[i].iov_base, parts[i].iov_len);
        at += parts[i].iov_len;
    }
    return message != NULL ? &message->base : NULL;
}

static struct ddsi_serdata *from_keyhash(const struct ddsi_sertype *type, const struct ddsi_keyhash *hash)
{
    (void)hash;
    struct message *message = make(type, SDK_KEY, 0);
    return message != NULL ? &message->base : NULL;
}

static struct ddsi_serdata *from_sample(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const void *sample)
{
    const struct bytes *from = sample;
    struct message *message = make(type, kind, kind == SDK_DATA ? from->bytes : 0);
    if (message != NULL && kind == SDK_DATA) {
        memcpy(message->data, from->data, from->bytes);
    }
    return message != NULL ? &message->base : NULL;
}

static void to_ser(const struct ddsi_serdata *data, size_t offset, size_t size, void *to)
{
    memcpy(to, message_of(data)->data + offset, size);
}

static struct ddsi_serdata *to_ser_ref(const struct ddsi_serdata *data, size_t offset, size_t size, ddsrt_iovec_t *part)
{
    struct message *message = (struct message *)ddsi_serdata_ref(data);
    part->iov_base = message->data + offset;
    part->iov_len = size;
    return &message->base;
}

static void to_ser_unref(struct ddsi_serdata *data, const ddsrt_iovec_t *part)
{
    (void)part;
    ddsi_serdata_unref(data);
}

/* Samples are taken as serdata (dds_takecdr), never as structures. */
static bool to_sample(const struct ddsi_serdata *data, void *sample, void **from, void *end)
{
    (void)data;
    (void)sample;
    (void)from;
    (void)end;
    return false;
}

static struct ddsi_serdata *to_untyped(const struct ddsi_serdata *data)
{
    struct message *message = make(data->type, SDK_KEY, 0);
    if (message != NULL) {
        message->base.type = NULL;
    }
    return message != NULL ? &message->base : NULL;
}

static bool untyped_to_sample(const struct ddsi_sertype *type, const struct ddsi_serdata *data, void *sample, void **from, void *end)
{
    (void)type;
    return to_sample(data, sample, from, end);
}

static void free_data(struct ddsi_serdata *data)
{
    (void)__atomic_load_n(&data->refc.v, __ATOMIC_ACQUIRE); /* the other threads' last accesses came before their decrements */
    free(data);
}

static size_t print(const struct ddsi_sertype *type, const struct ddsi_serdata *data, char *text, size_t bytes)
{
    (void)data;
    return (size_t)snprintf(text, bytes, "%s", type->type_name);
}

static void get_keyhash(const struct ddsi_serdata *data, struct ddsi_keyhash *hash, bool force_md5)
{
    (void)data;
    (void)force_md5;
    memset(hash, 0, sizeof *hash);
}

static const struct ddsi_serdata_ops data_operations = {
    .eqkey = eqkey,
    .get_size = get_size,
    .from_ser = from_ser,
    .from_ser_iov = from_ser_iov,
    .from_keyhash = from_keyhash,
    .from_sample = from_sample,
    .to_ser = to_ser,
    .to_ser_ref = to_ser_ref,
    .to_ser_unref = to_ser_unref,
    .to_sample = to_sample,
    .to_untyped = to_untyped,
    .untyped_to_sample = untyped_to_sample,
    .free = free_data,
    .print = print,
    .get_keyhash = get_keyhash,
};

/* ---- types ---- */

static void free_type(struct ddsi_sertype *type)
{
    ddsi_sertype_fini(type);
    free(type);
}

/* Cyclone calls the next three functions only for loans and dispositions, which ROS 2 topics do not have. */
static void zero_samples(const struct ddsi_sertype *type, void *samples, size_t count)
{
    (void)type;
    memset(samples, 0, count * sizeof(struct bytes));
}

static void realloc_samples(void **samples, const struct ddsi_sertype *type, void *old, size_t old_count, size_t count)
{
    (void)type;
    (void)old_count;
    struct bytes *array = realloc(old, (count + 1) * sizeof *array);
    for (size_t i = 0; array != NULL && i < count; i++) {
        array[i] = (struct bytes){0};
        samples[i] = &array[i];
    }
}

static void free_samples(const struct ddsi_sertype *type, void **samples, size_t count, dds_free_op_t operation)
{
    (void)type;
    if (count > 0 && (operation & DDS_FREE_ALL_BIT) != 0) {
        free(samples[0]);
    }
}

/* Types of one name are equal: the operations are those of this file. */
static bool equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
    (void)a;
    (void)b;
    return true;
}

static uint32_t hash(const struct ddsi_sertype *type)
{
    (void)type;
    return 0;
}

static size_t get_serialised_size(const struct ddsi_sertype *type, const void *sample)
{
    (void)type;
    return ((const struct bytes *)sample)->bytes;
}

static bool serialise_into(const struct ddsi_sertype *type, const void *sample, void *to, size_t bytes)
{
    const struct bytes *from = sample;
    (void)type;
    memcpy(to, from->data, from->bytes < bytes ? from->bytes : bytes);
    return true;
}

static const struct ddsi_sertype_ops type_operations = {
    .version = ddsi_sertype_v0,
    .free = free_type,
    .zero_samples = zero_samples,
    .realloc_samples = realloc_samples,
    .free_samples = free_samples,
    .equal = equal,
    .hash = hash,
    .get_serialized_size = get_serialised_size,
    .serialize_into = serialise_into,
};

/* ---- topics ---- */

dds_entity_t ros2_serialised_topic(dds_entity_t participant, const char *name, const char *type_name)
{
    struct ddsi_sertype *type = calloc(1, sizeof *type);
    if (type == NULL) {
        return DDS_RETCODE_OUT_OF_RESOURCES;
    }
    ddsi_sertype_init_flags(type, type_name, &type_operations, &data_operations, DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY);
    type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
    const dds_entity_t topic = dds_create_topic_sertype(participant, name, &type, NULL, NULL, NULL);
    if (topic < 0) {
        ddsi_sertype_unref(type);
    }
    return topic;
}

dds_return_t ros2_serialised_write(dds_entity_t writer, const void *data, size_t bytes)
{
    const struct bytes sample = {data, bytes};
    return dds_write(writer, &sample);
}

int ros2_serialised_take(dds_entity_t reader, void *data, size_t capacity, size_t *bytes, dds_instance_handle_t *writer)
{
    struct ddsi_serdata *taken = NULL;
    dds_sample_info_t info;
    const dds_return_t count = dds_takecdr(reader, &taken, 1, &info, DDS_ANY_STATE);
    *bytes = 0;
    if (count <= 0) {
        return count;
    }
    *writer = info.publication_handle;
    const struct message *message = message_of(taken);
    if (info.valid_data && message->bytes <= capacity) {
        memcpy(data, message->data, message->bytes);
        *bytes = message->bytes;
    }
    ddsi_serdata_unref(taken);
    return 1;
}
