// Reads an SDF file with libsdformat and prints what it understood of each IMU: an independent judge of our export.
// Exit code 0: no error. libsdformat takes a relative name for one of its own schemas: give an absolute path.
#include <cstdio>
#include <string>

#include <sdf/sdf.hh>

static void print_noise(const char *axis, const sdf::Noise &noise)
{
    static const char *const types[] = {"none", "gaussian", "gaussian_quantized"};
    std::printf("  %s %s %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", axis, types[static_cast<int>(noise.Type())],
                noise.Mean(), noise.StdDev(), noise.BiasMean(), noise.BiasStdDev(), noise.DynamicBiasStdDev(),
                noise.DynamicBiasCorrelationTime(), noise.Precision());
}

static void print_sensor(const sdf::Sensor &sensor)
{
    const sdf::Imu *imu = sensor.ImuSensor();
    std::printf("%s %.17g %s\n", sensor.Name().c_str(), sensor.UpdateRate(), sensor.Topic().c_str());
    if (imu == nullptr) {
        return;
    }
    std::printf("  localization %s\n  orientation %d\n", imu->Localization().c_str(), imu->OrientationEnabled());
    print_noise("ax", imu->LinearAccelerationXNoise());
    print_noise("ay", imu->LinearAccelerationYNoise());
    print_noise("az", imu->LinearAccelerationZNoise());
    print_noise("wx", imu->AngularVelocityXNoise());
    print_noise("wy", imu->AngularVelocityYNoise());
    print_noise("wz", imu->AngularVelocityZNoise());
}

int main(int argc, char **argv)
{
    sdf::Root root;
    if (argc != 2) {
        return 2;
    }
    const sdf::Errors errors = root.Load(std::string(argv[1]));
    for (const sdf::Error &error : errors) {
        std::fprintf(stderr, "%s\n", error.Message().c_str());
    }
    for (std::uint64_t w = 0; w < root.WorldCount(); w++) {
        const sdf::World *world = root.WorldByIndex(w);
        for (std::uint64_t m = 0; m < world->ModelCount(); m++) {
            const sdf::Link *link = world->ModelByIndex(m)->LinkByIndex(0);
            for (std::uint64_t s = 0; link != nullptr && s < link->SensorCount(); s++) {
                print_sensor(*link->SensorByIndex(s));
            }
        }
    }
    return errors.empty() ? 0 : 1;
}
