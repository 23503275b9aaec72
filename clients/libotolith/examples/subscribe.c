/* Prints every field of every sample of a topic, received over nng. usage: subscribe URL TOPIC [COUNT] */
#include <otolith/client.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct oto_subscriber *subscriber;
    struct oto_wire_sample sample;
    struct oto_error error;
    if (argc < 3 || oto_subscriber_open(argv[1], argv[2], &subscriber, &error) != OTO_OK) {
        return fprintf(stderr, "%s\n", argc < 3 ? "usage: subscribe URL TOPIC [COUNT]" : error.text), 1;
    }
    enum oto_status status = OTO_OK;
    for (int left = argc > 3 ? atoi(argv[3]) : 10; left > 0 && (status == OTO_OK || status == OTO_CORRUPT); left--) {
        status = oto_subscriber_next(subscriber, 5000, &sample, &error);
        for (uint32_t i = 0; status == OTO_OK && i < sample.type->field_count; i++) {
            char value[64];
            (void)oto_field_format(&sample.type->fields[i], sample.payload, 0, value, sizeof value);
            printf("%s %s = %s %s\n", sample.topic, sample.type->fields[i].name, value, sample.type->fields[i].unit);
        }
    }
    if (status != OTO_OK) {
        fprintf(stderr, "%s\n", error.text);
    }
    oto_subscriber_close(subscriber);
    return status != OTO_OK;
}
