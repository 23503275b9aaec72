/* The versions of the product and of its interfaces. */
#ifndef OTOLITH_VERSION_H
#define OTOLITH_VERSION_H

#define OTO_VERSION_STRING "0.1.0"

/* The plugin ABI. The host accepts exactly this version. */
#define OTO_PLUGIN_ABI_MAJOR 2
#define OTO_PLUGIN_ABI_MINOR 1

/* The shared-memory layout. A client accepts exactly its own major version; a minor version only adds at the end. */
#define OTO_SEGMENT_MAJOR 1
#define OTO_SEGMENT_MINOR 1

/* The schema of a frame on the wire (key `v` of the schema frame). */
#define OTO_WIRE_VERSION 1

/* The control protocol (key `v` of a request). */
#define OTO_CONTROL_VERSION 1

#endif
