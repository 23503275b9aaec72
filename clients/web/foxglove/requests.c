/* Messages of a viewer. JSON is read by the bounded parser of documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "foxglove/session.h"
#include "wire/control_verbs.h"

enum { INFO = 0, WARNING = 1, ERROR = 2 };
enum { SERVICE_CALL = 2, SERVICE_RESPONSE = 3, PLAYBACK_REQUEST = 3, PLAYBACK_STATE = 5 }; /* opcodes of binary messages */

static const char *text_of(const struct oto_value *map, const char *key)
{
    const struct oto_value *value = oto_value_get(map, key);
    return value != NULL && value->kind == OTO_VALUE_SCALAR ? value->text : "";
}

static bool number_of(const struct oto_value *map, const char *key, uint32_t *number)
{
    const struct oto_value *value = oto_value_get(map, key);
    uint64_t wide = 0;
    struct oto_error ignored;
    if (value == NULL || oto_value_u64(value, &wide, &ignored) != OTO_OK || wide > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t)wide;
    return true;
}

static const struct oto_value *list_of(const struct oto_value *map, const char *key)
{
    const struct oto_value *value = oto_value_get(map, key);
    return value != NULL && value->kind == OTO_VALUE_LIST ? value : NULL;
}

/* ---- subscriptions ---- */

void fox_end_subscription(struct fox_subscription *subscription)
{
    free(subscription->readers);
    *subscription = (struct fox_subscription){0};
}

static struct fox_subscription *find_subscription(struct fox_session *session, uint32_t id)
{
    struct fox_subscription *unused = NULL;
    for (uint32_t i = 0; i < FOX_SUBSCRIPTIONS; i++) {
        struct fox_subscription *subscription = &session->subscriptions[i];
        if (subscription->used && subscription->id == id) {
            return subscription;
        }
        unused = unused == NULL && !subscription->used ? subscription : unused;
    }
    return unused;
}

static void subscribe(struct fox_session *session, uint32_t id, uint32_t channel_id)
{
    const struct fox_catalog *catalog = &session->foxglove->catalog;
    struct fox_subscription *subscription = find_subscription(session, id);
    if (subscription == NULL || channel_id >= catalog->count) {
        fox_send_status(session, ERROR, subscription == NULL ? "at most 64 subscriptions are accepted" : "there is no such channel");
        return;
    }
    const struct fox_channel *channel = &catalog->channels[channel_id];
    fox_end_subscription(subscription);
    struct oto_reader *readers = calloc((size_t)channel->source_count + 1, sizeof *readers);
    if (readers == NULL) {
        fox_send_status(session, ERROR, "otolith-web is out of memory");
        return;
    }
    for (uint32_t i = 0; i < channel->source_count; i++) {
        readers[i] = oto_reader_make(channel->sources[i], OTO_READ_FROM_OLDEST); /* a new plot shows the past */
    }
    *subscription = (struct fox_subscription){.used = true, .id = id, .channel = channel_id, .readers = readers};
}

static void on_subscribe(struct fox_session *session, const struct oto_value *message)
{
    const struct oto_value *list = list_of(message, "subscriptions");
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        uint32_t id, channel;
        if (number_of(list->items[i], "id", &id) && number_of(list->items[i], "channelId", &channel)) {
            subscribe(session, id, channel);
        }
    }
}

static void on_unsubscribe(struct fox_session *session, const struct oto_value *message)
{
    const struct oto_value *list = list_of(message, "subscriptionIds");
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        uint64_t id;
        struct oto_error ignored;
        if (oto_value_u64(list->items[i], &id, &ignored) == OTO_OK && id <= UINT32_MAX) {
            struct fox_subscription *subscription = find_subscription(session, (uint32_t)id);
            if (subscription != NULL && subscription->used) {
                fox_end_subscription(subscription);
            }
        }
    }
}

/* ---- parameters: "car/imu:accelerometer.constant_bias_m_s2" ---- */

static void ask_node(struct fox_session *session)
{
    struct web_foxglove *foxglove = session->foxglove;
    struct oto_error error = {0};
    const char *node = foxglove->nodes[session->parameters.node];
    if (web_control_request(foxglove->control, session->number, session->may_control, "p", "get", &node, 1, &error) != OTO_OK) {
        session->parameters.running = false;
        fox_send_status(session, WARNING, error.text);
    }
}

void fox_get_parameters(struct fox_session *session, const char *id)
{
    struct fox_parameters *parameters = &session->parameters;
    if (parameters->running || session->foxglove->node_count == 0) {
        return;
    }
    parameters->running = true;
    parameters->node = 0;
    parameters->name_bytes = 0;
    (void)snprintf(parameters->id, sizeof parameters->id, "%s", id);
    oto_json_clear(&parameters->values);
    parameters->values.layout = OTO_JSON_COMPACT;
    parameters->values.depth = 1;
    ask_node(session);
}

/* Writes a YAML value as JSON: numbers, booleans and lists of numbers have the same form; everything else becomes a string. */
static void put_value(struct oto_json *json, const char *key, const char *value)
{
    char *end;
    const double number = strtod(value, &end);
    const bool list = value[0] == '[' && value[strspn(value, "[]0123456789.,eE-+ ")] == '\0';
    if (*value != '\0' && *end == '\0' && isfinite(number)) {
        oto_json_number(json, key, number);
    } else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0 || list) {
        oto_json_format(json, key, "%s", value);
    } else {
        oto_json_text(json, key, value);
    }
}

static void send_parameters(struct fox_session *session)
{
    struct oto_json *json = &session->foxglove->json;
    const struct fox_parameters *parameters = &session->parameters;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "parameterValues");
    if (parameters->id[0] != '\0') {
        oto_json_text(json, "id", parameters->id);
    }
    oto_json_format(json, "parameters", "[%s]", parameters->values.bytes > 0 ? parameters->values.text : "");
    oto_json_close(json, '}');
    fox_send_text(session);
}

static void add_parameter(struct fox_parameters *parameters, const char *name, const char *value)
{
    parameters->name_bytes += strlen(name) + 3;
    oto_json_open(&parameters->values, NULL, '{');
    oto_json_text(&parameters->values, "name", name);
    put_value(&parameters->values, "value", value);
    oto_json_close(&parameters->values, '}');
}

/* A viewer names all parameters that it got in one message, which must not be too long: the nodes beyond that have none. */
static bool has_room(struct fox_session *session)
{
    const struct fox_parameters *parameters = &session->parameters;
    char sentence[96];
    if (parameters->name_bytes < FOX_MESSAGE_BYTES / 2) {
        return true;
    }
    (void)snprintf(sentence, sizeof sentence, "the parameters of the first %u of %u nodes are shown", parameters->node, session->foxglove->node_count);
    fox_send_status(session, WARNING, sentence);
    return false;
}

static void take_parameters(struct fox_session *session, const struct oto_value *reply)
{
    struct web_foxglove *foxglove = session->foxglove;
    struct fox_parameters *parameters = &session->parameters;
    const struct oto_value *list = list_of(reply, "params");
    char name[256];
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        (void)snprintf(name, sizeof name, "%.120s:%.120s", foxglove->nodes[parameters->node], text_of(list->items[i], "key"));
        add_parameter(parameters, name, text_of(list->items[i], "value"));
    }
    if (++parameters->node < foxglove->node_count && has_room(session)) {
        ask_node(session);
        return;
    }
    parameters->running = false;
    send_parameters(session);
}

static void on_get_parameters(struct fox_session *session, const struct oto_value *message)
{
    fox_get_parameters(session, text_of(message, "id"));
}

/* Writes a JSON value as YAML. */
static void yaml_of(const struct oto_value *value, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s", value->kind == OTO_VALUE_SCALAR ? value->text : "[");
    for (uint32_t i = 0; value->kind == OTO_VALUE_LIST && i < value->count && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "",
                                 value->items[i]->kind == OTO_VALUE_SCALAR ? value->items[i]->text : "");
    }
    if (value->kind == OTO_VALUE_LIST && used < bytes) {
        (void)snprintf(text + used, bytes - used, "]");
    }
}

static void on_set_parameters(struct fox_session *session, const struct oto_value *message)
{
    const struct oto_value *list = list_of(message, "parameters");
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        char node[256], yaml[512] = "";
        const struct oto_value *value = oto_value_get(list->items[i], "value");
        (void)snprintf(node, sizeof node, "%s", text_of(list->items[i], "name"));
        char *key = strchr(node, ':');
        struct oto_error error = {0};
        if (key == NULL || value == NULL) {
            fox_send_status(session, ERROR, "a parameter is named NODE:KEY and has a value");
            continue;
        }
        *key++ = '\0';
        yaml_of(value, yaml, sizeof yaml);
        const char *arguments[] = {node, key, yaml};
        if (web_control_request(session->foxglove->control, session->number, session->may_control, "s", "set", arguments, 3,
                                &error) != OTO_OK) {
            fox_send_status(session, ERROR, error.text);
        }
    }
    if (text_of(message, "id")[0] != '\0') {
        fox_get_parameters(session, text_of(message, "id"));
    }
}

static void on_subscribe_parameters(struct fox_session *session, const struct oto_value *message)
{
    (void)message;
    session->wants_parameters = true;
}

static void on_unsubscribe_parameters(struct fox_session *session, const struct oto_value *message)
{
    const struct oto_value *list = list_of(message, "parameterNames");
    session->wants_parameters = session->wants_parameters && list != NULL && list->count > 0;
}

/* ---- the connection graph ---- */

static void on_subscribe_graph(struct fox_session *session, const struct oto_value *message)
{
    struct web_foxglove *foxglove = session->foxglove;
    struct oto_json *json = &foxglove->json;
    (void)message;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "connectionGraphUpdate");
    oto_json_open(json, "publishedTopics", '[');
    for (uint32_t i = 0; i < foxglove->catalog.count; i++) {
        const struct fox_channel *channel = &foxglove->catalog.channels[i];
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "name", channel->topic);
        oto_json_open(json, "publisherIds", '[');
        for (uint32_t k = 0; k < channel->source_count; k++) {
            oto_json_text(json, NULL, channel->sources[k]->node);
        }
        oto_json_close(json, ']');
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    static const char *const empty[] = {"subscribedTopics", "advertisedServices", "removedTopics", "removedServices"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        oto_json_format(json, empty[i], "[]");
    }
    oto_json_close(json, '}');
    fox_send_text(session);
}

static void on_unsubscribe_graph(struct fox_session *session, const struct oto_value *message)
{
    (void)session;
    (void)message; /* the graph is sent once */
}

/*
 * ---- services: each verb that a page may send and that changes something, with its arguments as members of a JSON object. The
 * number of a service is that of its verb. ----
 */

static bool is_service(uint32_t verb)
{
    return verb < OTO_VERB_COUNT && (oto_verbs[verb].flags & OTO_VERB_PAGE) != 0 && oto_verbs[verb].role != SRV_ROLE_OBSERVE;
}

static uint32_t argument_count(const struct oto_verb *verb)
{
    const uint32_t count = oto_verb_argument_count(verb);
    return count < WEB_CONTROL_ARGUMENTS ? count : WEB_CONTROL_ARGUMENTS;
}

/* "clear_faults" is of the type "otolith_msgs/srv/ClearFaults". */
static void name_type(const char *op, char *type, size_t bytes)
{
    size_t used = (size_t)snprintf(type, bytes, "otolith_msgs/srv/");
    for (bool upper = true; *op != '\0' && used + 1 < bytes; op++) {
        if (*op != '_') {
            type[used++] = upper ? (char)(*op - 'a' + 'A') : *op;
        }
        upper = *op == '_';
    }
    type[used] = '\0';
}

static void put_schema(struct oto_json *json, const char *key, const char *name, const struct oto_verb_argument *members, uint32_t count)
{
    struct oto_json schema = {.layout = OTO_JSON_COMPACT};
    oto_json_open(&schema, NULL, '{');
    oto_json_text(&schema, "type", "object");
    oto_json_open(&schema, "properties", '{');
    for (uint32_t i = 0; i < count; i++) {
        oto_json_format(&schema, members[i].key, "{}");
    }
    oto_json_close(&schema, '}');
    oto_json_close(&schema, '}');
    oto_json_open(json, key, '{');
    oto_json_text(json, "encoding", "json");
    oto_json_text(json, "schemaEncoding", "jsonschema");
    oto_json_text(json, "schemaName", name);
    oto_json_text(json, "schema", schema.failed ? "" : schema.text);
    oto_json_close(json, '}');
    oto_json_free(&schema);
}

void fox_advertise_services(struct fox_session *session)
{
    static const struct oto_verb_argument result[] = {{.key = "text"}, {.key = "tick"}};
    struct oto_json *json = &session->foxglove->json;
    char type[64];
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "advertiseServices");
    oto_json_open(json, "services", '[');
    for (uint32_t i = 0; i < OTO_VERB_COUNT; i++) {
        const struct oto_verb *verb = &oto_verbs[i];
        if (!is_service(i)) {
            continue;
        }
        name_type(verb->op, type, sizeof type);
        oto_json_open(json, NULL, '{');
        oto_json_u64(json, "id", i);
        oto_json_format(json, "name", "\"/%s\"", verb->op);
        oto_json_text(json, "type", type);
        put_schema(json, "request", type, verb->arguments, argument_count(verb));
        put_schema(json, "response", "otolith_msgs/srv/Result", result, 2);
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
    fox_send_text(session);
}

static void send_failure(struct fox_session *session, uint32_t service, uint32_t call, const char *message)
{
    struct oto_json *json = &session->foxglove->json;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "serviceCallFailure");
    oto_json_u64(json, "serviceId", service);
    oto_json_u64(json, "callId", call);
    oto_json_text(json, "message", message);
    oto_json_close(json, '}');
    fox_send_text(session);
}

static void call_service(struct fox_session *session, uint32_t service, uint32_t call, const struct oto_value *request)
{
    const struct oto_verb *verb = &oto_verbs[service];
    char number[32], values[WEB_CONTROL_ARGUMENTS][512] = {0};
    const char *arguments[WEB_CONTROL_ARGUMENTS];
    struct oto_error error = {0};
    const uint32_t count = argument_count(verb);
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_value *value = oto_value_get(request, verb->arguments[i].key);
        arguments[i] = values[i];
        if (value == NULL && verb->arguments[i].required) {
            send_failure(session, service, call, "an argument is missing; the schema of the request names them");
            return;
        }
        if (value != NULL) {
            yaml_of(value, values[i], sizeof values[i]);
        }
    }
    (void)snprintf(number, sizeof number, "c%u:%u", service, call);
    if (web_control_request(session->foxglove->control, session->number, session->may_control, number, verb->op, arguments, count,
                            &error) != OTO_OK) {
        send_failure(session, service, call, error.text);
    }
}

/* Handles a service call: u8 opcode, u32 service, u32 call, u32 length and text of the encoding, payload. */
static void on_service_call(struct fox_session *session, const unsigned char *data, size_t bytes)
{
    uint32_t service, call, length;
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    enum { HEAD = 13 };
    if (bytes < HEAD) {
        fox_send_status(session, ERROR, "a service call is not complete");
        return;
    }
    memcpy(&service, data + 1, sizeof service);
    memcpy(&call, data + 5, sizeof call);
    memcpy(&length, data + 9, sizeof length);
    const bool json = length == 4 && bytes >= HEAD + 4 && memcmp(data + HEAD, "json", 4) == 0;
    if (!is_service(service) || !json) {
        send_failure(session, service, call, !is_service(service) ? "there is no such service" : "requests are accepted as json");
        return;
    }
    const char *payload = (const char *)data + HEAD + 4;
    const size_t payload_bytes = bytes - HEAD - 4;
    const bool empty = argument_count(&oto_verbs[service]) == 0;
    if (!empty && oto_document_parse("request", payload, payload_bytes, NULL, &document, &error) != OTO_OK) {
        send_failure(session, service, call, error.text);
        return;
    }
    call_service(session, service, call, empty ? NULL : oto_document_root(document));
    oto_document_close(document);
}

static void send_result(struct fox_session *session, uint32_t service, uint32_t call, const struct oto_value *reply)
{
    struct oto_json *json = &session->foxglove->json;
    unsigned char *frame = session->foxglove->frame;
    const uint32_t length = 4;
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "text", text_of(reply, "text"));
    oto_json_format(json, "tick", "%s", text_of(reply, "tick"));
    oto_json_close(json, '}');
    if (json->failed || json->bytes + 17 > sizeof session->foxglove->frame) {
        send_failure(session, service, call, "the reply is too long");
        return;
    }
    frame[0] = SERVICE_RESPONSE;
    memcpy(frame + 1, &service, sizeof service);
    memcpy(frame + 5, &call, sizeof call);
    memcpy(frame + 9, &length, sizeof length);
    memcpy(frame + 13, "json", 4);
    memcpy(frame + 17, json->text, json->bytes);
    (void)web_peer_send(session->peer, frame, 17 + json->bytes, true);
}

/* ---- playback control ---- */

/*
 * The message: u8 opcode, u8 status, u64 time, f32 speed, u8 did seek, u32 length and text of the request's id. Values that a
 * request has set are copied from the request, because after a seek the client may not be attached to the next run yet.
 */
void fox_send_playback(struct fox_session *session, const struct fox_control *request)
{
    enum { PLAYING = 0, PAUSED = 1, ENDED = 3, HEAD = 19 };
    unsigned char frame[HEAD + FOX_ID_BYTES];
    const struct oto_client *client = web_world_client(session->foxglove->options.world);
    const uint32_t state = __atomic_load_n(&oto_client_header(client)->state, __ATOMIC_ACQUIRE);
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    const bool did_seek = request == NULL || request->did_seek;
    const uint64_t now_ns = clock.sim_time_ns > 0 ? (uint64_t)clock.sim_time_ns : 0;
    const uint64_t time_ns = request != NULL && request->did_seek ? request->seek_ns : now_ns;
    const float speed = request != NULL ? request->speed : (float)clock.scale;
    const bool plays = request != NULL ? request->plays : state == OTO_SERVER_RUNNING;
    const uint32_t length = request != NULL ? (uint32_t)strlen(request->id) : 0;
    frame[0] = PLAYBACK_STATE;
    frame[1] = plays ? PLAYING : time_ns >= (uint64_t)session->foxglove->playback.end_ns ? ENDED : PAUSED;
    memcpy(frame + 2, &time_ns, sizeof time_ns);
    memcpy(frame + 10, &speed, sizeof speed);
    frame[14] = did_seek;
    memcpy(frame + 15, &length, sizeof length);
    if (length > 0) {
        memcpy(frame + HEAD, request->id, length);
    }
    (void)web_peer_send(session->peer, frame, HEAD + length, true);
}

static void control_playback(struct fox_session *session, const char *verb, const char *argument)
{
    struct oto_error error = {0};
    if (web_control_request(session->foxglove->control, session->number, session->may_control, "k", verb, &argument,
                            argument != NULL ? 1 : 0, &error) == OTO_OK) {
        session->control.awaited++;
    } else {
        fox_send_status(session, ERROR, error.text);
    }
}

/* Handles a playback request: u8 opcode, u8 play or pause, f32 speed, u8 had seek, u64 time, u32 length and text of the id. */
static void on_playback_request(struct fox_session *session, const unsigned char *data, size_t bytes)
{
    enum { HEAD = 19 };
    struct fox_control *control = &session->control;
    uint32_t length;
    char text[32];
    if (bytes < HEAD || !session->foxglove->playback.plays || session->control.awaited > 0) {
        fox_send_status(session, WARNING, "this world is live, or a request to control the playback is under way");
        return;
    }
    memcpy(&control->speed, data + 2, sizeof control->speed);
    memcpy(&control->seek_ns, data + 7, sizeof control->seek_ns);
    control->plays = data[1] == 0;
    memcpy(&length, data + 15, sizeof length);
    length = length <= bytes - HEAD && length < FOX_ID_BYTES ? length : 0;
    memcpy(control->id, data + HEAD, length);
    control->id[length] = '\0';
    control->did_seek = data[6] != 0;
    if (control->did_seek) {
        (void)snprintf(text, sizeof text, "%.9f", (double)control->seek_ns * 1e-9);
        control_playback(session, "seek", text);
    }
    (void)snprintf(text, sizeof text, "%.6g", (double)control->speed);
    control_playback(session, "scale", text);
    control_playback(session, control->plays ? "resume" : "pause", NULL);
}

static void take_control_reply(struct fox_session *session, bool good, const char *text)
{
    if (!good) {
        fox_send_status(session, ERROR, text);
    }
    session->control.awaited -= session->control.awaited > 0;
    if (session->control.awaited == 0) {
        fox_send_playback(session, &session->control);
    }
}

void fox_reply(struct fox_session *session, const char *text, size_t bytes)
{
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    uint32_t service, call;
    if (oto_document_parse("reply", text, bytes, NULL, &document, &error) != OTO_OK) {
        session->parameters.running = false;
        fox_send_status(session, ERROR, error.text);
        return;
    }
    const struct oto_value *reply = oto_document_root(document);
    const char *number = text_of(reply, "request");
    const bool good = strcmp(text_of(reply, "ok"), "true") == 0;
    if (number[0] == 'p') {
        take_parameters(session, reply);
    } else if (number[0] == 'k') {
        take_control_reply(session, good, text_of(reply, "text"));
    } else if (number[0] == 'c' && sscanf(number, "c%u:%u", &service, &call) == 2) {
        if (good) {
            send_result(session, service, call, reply);
        } else {
            send_failure(session, service, call, text_of(reply, "text"));
        }
    } else if (!good) {
        fox_send_status(session, ERROR, text_of(reply, "text"));
    }
    oto_document_close(document);
}

/* ---- dispatch ---- */

static const struct {
    const char *op;
    void (*take)(struct fox_session *session, const struct oto_value *message);
} messages[] = {{"subscribe", on_subscribe},
                {"unsubscribe", on_unsubscribe},
                {"getParameters", on_get_parameters},
                {"setParameters", on_set_parameters},
                {"subscribeParameterUpdates", on_subscribe_parameters},
                {"unsubscribeParameterUpdates", on_unsubscribe_parameters},
                {"subscribeConnectionGraph", on_subscribe_graph},
                {"unsubscribeConnectionGraph", on_unsubscribe_graph}};

void fox_receive(struct fox_session *session, const void *data, size_t bytes, bool binary)
{
    struct oto_document *document = NULL;
    struct oto_error error = {0};
    if (binary) {
        const unsigned char opcode = bytes > 0 ? *(const unsigned char *)data : 0;
        if (opcode == SERVICE_CALL) {
            on_service_call(session, data, bytes);
        } else if (opcode == PLAYBACK_REQUEST) {
            on_playback_request(session, data, bytes);
        } else {
            fox_send_status(session, WARNING, "of binary messages, service calls and playback control are accepted");
        }
        return;
    }
    if (oto_document_parse("message", data, bytes, NULL, &document, &error) != OTO_OK) {
        fox_send_status(session, ERROR, error.text);
        return;
    }
    const struct oto_value *message = oto_document_root(document);
    const char *op = text_of(message, "op");
    bool known = false;
    for (size_t i = 0; i < sizeof messages / sizeof *messages && !known; i++) {
        known = strcmp(op, messages[i].op) == 0;
        if (known) {
            messages[i].take(session, message);
        }
    }
    if (!known) {
        fox_send_status(session, WARNING, "the message is not supported: clients cannot publish, and there are no assets");
    }
    oto_document_close(document);
}
