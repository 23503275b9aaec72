/* SHA-256 (FIPS 180-4) of one block of memory. Pure. */
#ifndef ROS2_SHA256_H
#define ROS2_SHA256_H

#include <stddef.h>

enum { ROS2_SHA256_BYTES = 32 };

void ros2_sha256(const void *data, size_t bytes, unsigned char digest[ROS2_SHA256_BYTES]);

#endif
