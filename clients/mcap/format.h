/* Numbers of the MCAP format, version 0 (https://mcap.dev/spec). All integers are little-endian. */
#ifndef OTO_MCAP_FORMAT_H
#define OTO_MCAP_FORMAT_H

#define OTO_MCAP_MAGIC "\x89MCAP0\r\n"
#define OTO_MCAP_MAGIC_BYTES 8u
#define OTO_MCAP_RECORD_HEAD_BYTES 9u /* opcode, u64 length */
#define OTO_MCAP_FOOTER_BYTES 20u     /* contents of the footer record */

enum oto_mcap_opcode {
    OTO_MCAP_HEADER = 0x01,
    OTO_MCAP_FOOTER = 0x02,
    OTO_MCAP_SCHEMA = 0x03,
    OTO_MCAP_CHANNEL = 0x04,
    OTO_MCAP_MESSAGE = 0x05,
    OTO_MCAP_CHUNK = 0x06,
    OTO_MCAP_MESSAGE_INDEX = 0x07,
    OTO_MCAP_CHUNK_INDEX = 0x08,
    OTO_MCAP_ATTACHMENT = 0x09,
    OTO_MCAP_ATTACHMENT_INDEX = 0x0a,
    OTO_MCAP_STATISTICS = 0x0b,
    OTO_MCAP_METADATA = 0x0c,
    OTO_MCAP_METADATA_INDEX = 0x0d,
    OTO_MCAP_SUMMARY_OFFSET = 0x0e,
    OTO_MCAP_DATA_END = 0x0f
};

/* A key and a value of a channel or of a metadata record. */
struct oto_mcap_pair {
    const char *key, *value;
};

#endif
