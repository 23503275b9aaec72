/* What someone may give to `otolith sdf import`; what is accepted must come back whole from both languages. */
#include <stdlib.h>

#include "document/document.h"
#include "sdf/sdf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

static void drop(void *context, const char *sentence)
{
    (void)context;
    must(sentence[0] != '\0');
}

static enum oto_status read_sdf(const void *text, size_t bytes, struct oto_sdf_world *world, struct oto_error *error)
{
    struct oto_xml *xml = NULL;
    enum oto_status status = oto_xml_parse("fuzz.sdf", text, bytes, &xml, error);
    if (status == OTO_OK) {
        status = oto_sdf_from_xml(xml, drop, NULL, world, error);
    }
    oto_xml_close(xml);
    return status;
}

static void write_both(const struct oto_sdf_world *world)
{
    struct oto_sdf_world again = {0};
    struct oto_document *document = NULL;
    struct oto_error error = {.status = OTO_OK};
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    must(file != NULL && oto_sdf_to_xml(world, file, &error) == OTO_OK && fclose(file) == 0);
    must(read_sdf(text, bytes, &again, &error) == OTO_OK && again.count == world->count);
    oto_sdf_world_finish(&again);
    free(text);
    file = open_memstream(&text, &bytes);
    must(file != NULL && oto_sdf_to_yaml(world, "fuzz.sdf", file, &error) == OTO_OK && fclose(file) == 0);
    must(oto_document_parse("fuzz.yaml", text, bytes, NULL, &document, &error) == OTO_OK);
    oto_document_close(document);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct oto_sdf_world world = {0};
    struct oto_error error = {.status = OTO_OK};
    if (read_sdf(data, bytes, &world, &error) != OTO_OK) {
        must(error.text[0] != '\0');
        return 0;
    }
    write_both(&world);
    oto_sdf_world_finish(&world);
    return 0;
}
