/* What the other parts of the library see of a subscriber. One thread at a time. */
#ifndef OTO_SUBSCRIBER_H
#define OTO_SUBSCRIBER_H

#include "transport/topics.h"

/* The topics that the publisher announced, valid until the next call on the subscriber. */
const struct oto_topics *oto_subscriber_topics(const struct oto_subscriber *subscriber);

#endif
