/*
 * The other side of otolith-ros2 on another vendor's DDS: a participant of eProsima Fast DDS on loopback, driven by lines on standard
 * input, reporting as JSON lines on standard output. It knows nothing of otolith.
 *
 *   fastdds_peer DOMAIN [BYTES]                                  BYTES: of the socket that receives, for a reader that loses messages
 *   subscribe TOPIC TYPE LAYOUT reliable|best_effort|latched     messages as {"topic": …, "values": […]}
 *   advertise TOPIC TYPE latched|volatile
 *   write TOPIC HEX                                              CDR with its encapsulation
 *
 * LAYOUT, decoded by Fast CDR: d double, f float, i int32, I uint32, q int64, Q uint64, h int16, H uint16, b int8, B uint8, s string, each
 * with a count before it ("9d"); "S(…)" is a sequence; "-" prints the bytes as hex. Endpoints that it discovers are {"writer": …, "type":
 * …, "user_data": …}, {"reader": …} and {"participant": …}; {"matched": TOPIC, "count": N}; {"lost": TOPIC, "count": N} when samples were lost, N in all.
 */
#include <fastcdr/Cdr.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::IPLocator;
using eprosima::fastrtps::rtps::Locator_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

using Bytes = std::vector<unsigned char>;

static std::mutex output;

static void print(const std::string &line)
{
    const std::lock_guard<std::mutex> lock(output);
    std::cout << line << std::endl;
}

static std::string json_text(const std::string &text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        if (static_cast<unsigned char>(c) >= 0x20) {
            out += c;
        }
    }
    return out + "\"";
}

static std::string hex(const Bytes &bytes)
{
    static const char digits[] = "0123456789abcdef";
    std::string out;
    for (const unsigned char byte : bytes) {
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

/* ---- a type whose samples are CDR bytes ---- */

class RawType : public TopicDataType {
public:
    explicit RawType(const std::string &name)
    {
        setName(name.c_str());
        m_typeSize = 1 << 16;
        m_isGetKeyDefined = false;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }
    bool serialize(void *data, SerializedPayload_t *payload) override
    {
        const Bytes &bytes = *static_cast<Bytes *>(data);
        payload->length = static_cast<uint32_t>(bytes.size());
        payload->encapsulation = CDR_LE;
        std::memcpy(payload->data, bytes.data(), bytes.size());
        return true;
    }
    bool deserialize(SerializedPayload_t *payload, void *data) override
    {
        static_cast<Bytes *>(data)->assign(payload->data, payload->data + payload->length);
        return true;
    }
    std::function<uint32_t()> getSerializedSizeProvider(void *data) override
    {
        return [data] { return static_cast<uint32_t>(static_cast<Bytes *>(data)->size()); };
    }
    void *createData() override { return new Bytes; }
    void deleteData(void *data) override { delete static_cast<Bytes *>(data); }
    bool getKey(void *, eprosima::fastrtps::rtps::InstanceHandle_t *, bool) override { return false; }
};

/* ---- decoding by Fast CDR ---- */

template <typename T> static void decode_number(eprosima::fastcdr::Cdr &cdr, std::ostream &out)
{
    T number;
    cdr >> number;
    if constexpr (sizeof(T) == 1) {
        out << static_cast<int>(number);
    } else if constexpr (std::is_floating_point_v<T>) {
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", static_cast<double>(number));
        out << (std::strstr(text, "nan") != nullptr || std::strstr(text, "inf") != nullptr ? "null" : text);
    } else {
        out << number;
    }
}

static void decode_one(char kind, eprosima::fastcdr::Cdr &cdr, std::ostream &out)
{
    std::string text;
    switch (kind) {
    case 'd': return decode_number<double>(cdr, out);
    case 'f': return decode_number<float>(cdr, out);
    case 'i': return decode_number<int32_t>(cdr, out);
    case 'I': return decode_number<uint32_t>(cdr, out);
    case 'q': return decode_number<int64_t>(cdr, out);
    case 'Q': return decode_number<uint64_t>(cdr, out);
    case 'h': return decode_number<int16_t>(cdr, out);
    case 'H': return decode_number<uint16_t>(cdr, out);
    case 'b': return decode_number<int8_t>(cdr, out);
    case 'B': return decode_number<uint8_t>(cdr, out);
    default:
        cdr >> text;
        out << json_text(text);
    }
}

static void decode(const std::string &layout, eprosima::fastcdr::Cdr &cdr, std::ostream &out, bool &first)
{
    for (size_t i = 0; i < layout.size(); i++) {
        size_t count = 1;
        if (std::isdigit(static_cast<unsigned char>(layout[i])) != 0) {
            count = std::stoul(layout.substr(i));
            while (std::isdigit(static_cast<unsigned char>(layout[i])) != 0) {
                i++;
            }
        }
        if (layout[i] == 'S') {
            const size_t end = layout.rfind(')');
            uint32_t length = 0;
            cdr >> length;
            for (uint32_t k = 0; k < length; k++) {
                decode(layout.substr(i + 2, end - i - 2), cdr, out, first);
            }
            i = end;
            continue;
        }
        for (size_t k = 0; k < count; k++) {
            out << (first ? "" : ", ");
            first = false;
            decode_one(layout[i], cdr, out);
        }
    }
}

static std::string values_of(const std::string &layout, Bytes &bytes)
{
    std::ostringstream out;
    if (layout == "-") {
        return json_text(hex(bytes));
    }
    eprosima::fastcdr::FastBuffer buffer(reinterpret_cast<char *>(bytes.data()), bytes.size());
    eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::DEFAULT_ENDIAN, eprosima::fastcdr::Cdr::DDS_CDR);
    bool first = true;
    out << "[";
    try {
        cdr.read_encapsulation();
        decode(layout, cdr, out, first);
    } catch (const eprosima::fastcdr::exception::Exception &problem) {
        return json_text(std::string("undecodable: ") + problem.what());
    }
    const size_t left = bytes.size() - cdr.getSerializedDataLength();
    out << "]" << (left > 3 ? ", \"left\": " + std::to_string(left) : "");
    return out.str();
}

/* ---- reports ---- */

static long long now_ns()
{
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

class Reader : public DataReaderListener {
public:
    Reader(std::string topic, std::string layout) : topic_(std::move(topic)), layout_(std::move(layout)) {}
    void on_data_available(DataReader *reader) override
    {
        Bytes bytes;
        SampleInfo info;
        while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
            const long long at = now_ns();
            if (info.valid_data) {
                print("{\"topic\": " + json_text(topic_) + ", \"at_ns\": " + std::to_string(at) + ", \"bytes\": " + std::to_string(bytes.size()) +
                      ", \"values\": " + values_of(layout_, bytes) + "}");
            }
        }
    }
    void on_subscription_matched(DataReader *, const SubscriptionMatchedStatus &status) override
    {
        print("{\"matched\": " + json_text(topic_) + ", \"count\": " + std::to_string(status.current_count) + "}");
    }
    void on_sample_lost(DataReader *, const SampleLostStatus &status) override
    {
        print("{\"lost\": " + json_text(topic_) + ", \"count\": " + std::to_string(status.total_count) + "}");
    }

private:
    std::string topic_, layout_;
};

class Writer : public DataWriterListener {
public:
    explicit Writer(std::string topic) : topic_(std::move(topic)) {}
    void on_publication_matched(DataWriter *, const PublicationMatchedStatus &status) override
    {
        print("{\"matched\": " + json_text(topic_) + ", \"count\": " + std::to_string(status.current_count) + "}");
    }

private:
    std::string topic_;
};

template <typename Data> static std::string text_of(const Data &data)
{
    return std::string(data.begin(), data.end());
}

static std::string guid_of(const eprosima::fastrtps::rtps::GUID_t &guid)
{
    Bytes bytes(guid.guidPrefix.value, guid.guidPrefix.value + 12);
    bytes.insert(bytes.end(), guid.entityId.value, guid.entityId.value + 4);
    return json_text(hex(bytes));
}

template <typename Info> static void print_endpoint(const char *kind, const Info &info, bool is_gone)
{
    print(std::string("{\"") + kind + "\": " + json_text(info.topicName().to_string()) + ", \"type\": " + json_text(info.typeName().to_string()) +
          ", \"guid\": " + guid_of(info.guid()) + ", \"user_data\": " + json_text(text_of(info.m_qos.m_userData)) +
          ", \"reliable\": " + (info.m_qos.m_reliability.kind == eprosima::fastdds::dds::RELIABLE_RELIABILITY_QOS ? "true" : "false") +
          ", \"latched\": " + (info.m_qos.m_durability.kind == eprosima::fastdds::dds::TRANSIENT_LOCAL_DURABILITY_QOS ? "true" : "false") +
          ", \"gone\": " + (is_gone ? "true" : "false") + "}");
}

class Participant : public DomainParticipantListener {
public:
    void on_participant_discovery(DomainParticipant *, eprosima::fastrtps::rtps::ParticipantDiscoveryInfo &&info) override
    {
        print("{\"participant\": " + guid_of(info.info.m_guid) + ", \"user_data\": " + json_text(text_of(info.info.m_userData)) + ", \"status\": " +
              std::to_string(static_cast<int>(info.status)) + "}");
    }
    void on_publisher_discovery(DomainParticipant *, eprosima::fastrtps::rtps::WriterDiscoveryInfo &&info) override
    {
        print_endpoint("writer", info.info, info.status == eprosima::fastrtps::rtps::WriterDiscoveryInfo::REMOVED_WRITER);
    }
    void on_subscriber_discovery(DomainParticipant *, eprosima::fastrtps::rtps::ReaderDiscoveryInfo &&info) override
    {
        print_endpoint("reader", info.info, info.status == eprosima::fastrtps::rtps::ReaderDiscoveryInfo::REMOVED_READER);
    }
};

/* ---- the participant ---- */

static DomainParticipant *join(uint32_t domain, uint32_t buffer_bytes, DomainParticipantListener *listener)
{
    DomainParticipantQos qos;
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    udp->interfaceWhiteList.emplace_back("127.0.0.1");
    udp->maxInitialPeersRange = 16;
    if (buffer_bytes > 0) {
        udp->receiveBufferSize = udp->maxMessageSize = buffer_bytes;
    }
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(udp);
    Locator_t peer;
    IPLocator::setIPv4(peer, "127.0.0.1");
    peer.port = 0;
    qos.wire_protocol().builtin.initialPeersList.push_back(peer);
    qos.wire_protocol().builtin.discovery_config.leaseDuration =
        eprosima::fastrtps::Duration_t(buffer_bytes > 0 ? 3600 : 10, 0);
    qos.wire_protocol().builtin.discovery_config.leaseDuration_announcementperiod = eprosima::fastrtps::Duration_t(1, 0);
    return DomainParticipantFactory::get_instance()->create_participant(domain, qos, listener, StatusMask::none());
}

struct Session {
    DomainParticipant *participant;
    Publisher *publisher;
    Subscriber *subscriber;
    std::map<std::string, DataWriter *> writers;
    std::vector<std::unique_ptr<DataReaderListener>> readers;
    std::vector<std::unique_ptr<DataWriterListener>> listeners;
    std::map<std::string, Topic *> topics;
};

static Topic *topic_of(Session &session, const std::string &name, const std::string &type)
{
    Topic *&topic = session.topics[name];
    if (topic == nullptr) {
        TypeSupport(new RawType(type)).register_type(session.participant);
        topic = session.participant->create_topic(name, type, TOPIC_QOS_DEFAULT);
    }
    return topic;
}

static void subscribe(Session &session, std::istream &line)
{
    std::string name, type, layout, kind;
    line >> name >> type >> layout >> kind;
    DataReaderQos qos;
    qos.reliability().kind = kind == "best_effort" ? BEST_EFFORT_RELIABILITY_QOS : RELIABLE_RELIABILITY_QOS;
    qos.durability().kind = kind == "latched" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = KEEP_LAST_HISTORY_QOS;
    qos.history().depth = 1000;
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    session.readers.push_back(std::make_unique<Reader>(name, layout));
    session.subscriber->create_datareader(topic_of(session, name, type), qos, session.readers.back().get());
}

static void advertise(Session &session, std::istream &line)
{
    std::string name, type, kind;
    line >> name >> type >> kind;
    DataWriterQos qos;
    qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    qos.durability().kind = kind == "latched" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    session.listeners.push_back(std::make_unique<Writer>(name));
    session.writers[name] = session.publisher->create_datawriter(topic_of(session, name, type), qos, session.listeners.back().get());
}

static void write(Session &session, std::istream &line)
{
    std::string name, text;
    line >> name >> text;
    Bytes bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(static_cast<unsigned char>(std::stoul(text.substr(i, 2), nullptr, 16)));
    }
    session.writers.at(name)->write(&bytes);
}

int main(int argc, char **argv)
{
    Participant listener;
    Session session{};
    const uint32_t buffer_bytes = argc > 2 ? static_cast<uint32_t>(std::stoul(argv[2])) : 0;
    session.participant =
        argc > 1 ? join(static_cast<uint32_t>(std::stoul(argv[1])), buffer_bytes, &listener) : nullptr;
    if (session.participant == nullptr) {
        std::cerr << "fastdds_peer: no participant" << std::endl;
        return 1;
    }
    session.publisher = session.participant->create_publisher(PUBLISHER_QOS_DEFAULT);
    session.subscriber = session.participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
    print("{\"ready\": true}");
    for (std::string text; std::getline(std::cin, text);) {
        std::istringstream line(text);
        std::string word;
        line >> word;
        if (word == "subscribe") {
            subscribe(session, line);
        } else if (word == "advertise") {
            advertise(session, line);
        } else if (word == "write") {
            write(session, line);
        }
    }
    session.participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(session.participant);
    return 0;
}
