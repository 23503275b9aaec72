/* Names of the parts of a recording beside its messages. */
#ifndef CLI_RECORD_NAMES_H
#define CLI_RECORD_NAMES_H

#define RECORDING_WORLD "world"               /* attachment: the world file */
#define RECORDING_SCHEMA "schema.msgpack"     /* attachments: the schema frames of otolith/frame.h */
#define RECORDING_PARAMETERS "parameters.yaml" /* attachment: parameters of all nodes when the recording began; of a world of more than 256 those of the first 256 recorded ones */
#define RECORDING_INPUTS "inputs.jsonl"       /* attachments: the log of inputs, in parts of whole lines */
#define RECORDING_FILES "files"               /* attachments: files that the world names, "files" and their absolute path */
#define RECORDING_PLACES "files.jsonl"        /* attachment: where the world names the files that are not beside the world file */
#define RECORDING_METADATA "otolith"          /* metadata of the start and of the end */
#define RECORDING_HEAD "/head"                /* TOPIC/head has the sample heads of TOPIC */

#endif
