#include "wire/ros_topic.h"

#include <ctype.h>
#include <string.h>

void oto_ros_topic(const char *world, const char *topic, char name[OTO_ROS_TOPIC_BYTES])
{
    const size_t prefix = strlen(world);
    if (strncmp(topic, world, prefix) == 0 && topic[prefix] == '/') {
        topic += prefix + 1;
    }
    size_t length = 0;
    name[length++] = '/';
    for (; *topic != '\0' && length + 2 < OTO_ROS_TOPIC_BYTES; topic++) {
        const int c = (unsigned char)*topic;
        if (name[length - 1] == '/' && isdigit(c)) { /* a part of a name does not begin with a digit */
            name[length++] = '_';
        }
        name[length++] = *topic == '.' ? '/' : c == '/' || (isascii(c) && isalnum(c)) ? *topic : '_';
    }
    name[length] = '\0';
}
