"""otolith-ros2 with a ROS 2 node of another vendor: npm's @foxglove/ros2, which has its own RTPS and decoder. Skips where there is no npm."""
import pathlib
import signal
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(3)).resolve()
import ros2_case  # noqa: E402
from ros2_case import BIN, IMU, SOURCE  # noqa: E402
from npm import npm_folder  # noqa: E402

# Topic: type, and whether a late reader gets what was sent before.
TOPICS = {
    "rt/car/imu": ("sensor_msgs::msg::dds_::Imu_", False),
    "rt/car/mag": ("sensor_msgs::msg::dds_::MagneticField_", False),
    "rt/car/gnss": ("sensor_msgs::msg::dds_::NavSatFix_", False),
    "rt/car/baro": ("sensor_msgs::msg::dds_::FluidPressure_", False),
    "rt/car/motion": ("nav_msgs::msg::dds_::Odometry_", False),
    "rt/car/odo": ("nav_msgs::msg::dds_::Odometry_", False),
    "rt/car/gnss/record": ("otolith_msgs::msg::dds_::Navsat_", False),
    "rt/car/baro/record": ("otolith_msgs::msg::dds_::Pressure_", False),
    "rt/car/motion/record": ("otolith_msgs::msg::dds_::Truth_", False),
    "rt/car/odo/record": ("otolith_msgs::msg::dds_::Odometry_", False),
    "rt/_events": ("otolith_msgs::msg::dds_::Event_", False),
    "rt/clock": ("rosgraph_msgs::msg::dds_::Clock_", False),
    "rt/tf": ("tf2_msgs::msg::dds_::TFMessage_", False),
    "rt/tf_static": ("tf2_msgs::msg::dds_::TFMessage_", True),
    "rt/rosout": ("rcl_interfaces::msg::dds_::Log_", True),
}


class Foxglove(ros2_case.Messages, ros2_case.Ros2Case):
    is_in_order = False  # it gives messages in the order of their packets, repeated ones too

    def setUp(self):
        super().setUp()
        self.peer_folder = npm_folder(self, BUILD, SOURCE, "foxglove_ros2.mjs")

    def peer_command(self):
        self.otolith("export", "ros2-msgs", self.path / "otolith_msgs")
        return ["node", "foxglove_ros2.mjs", "--loopback", "--domain", str(self.domain), "--msgs", str(self.path / "otolith_msgs")]

    def test_topics_types_and_qos_are_discovered(self):
        self.start_world()
        self.start_bridge()
        peer = self.peer()
        for topic, (dds_type, is_latched) in TOPICS.items():
            writer = peer.endpoint("writer", topic)
            self.assertEqual((writer["type"], writer["latched"], writer["reliable"]), (dds_type, is_latched, True), topic)
            self.assertRegex(writer["user_data"], "^typehash=RIHS01_[0-9a-f]{64};$")
        peer.endpoint("writer", "ros_discovery_info")
        endpoints = dict(peer.endpoints)
        self.assertEqual({name for kind, name in endpoints if kind == "writer"}, {*TOPICS, "ros_discovery_info"})
        self.assertEqual({report["user_data"] for (kind, _), report in endpoints.items() if kind == "participant"}, {"enclave=/;"})

    def test_a_new_bridge_is_read_after_a_kill(self):
        world, peer = self.start_world(), self.peer()
        peer.subscribe(*IMU)
        for _ in range(3):
            seen = peer.count("rt/car/imu")
            bridge = self.start_bridge()
            peer.take("rt/car/imu", 3, after=seen)
            bridge.send_signal(signal.SIGKILL)
            bridge.wait(timeout=300)
            self.assertIsNone(world.poll(), "the world runs on")


if __name__ == "__main__":
    unittest.main()
