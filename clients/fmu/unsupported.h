/*
 * Functions of FMI 3.0 that an FMU exports without claiming their capability, because importers find every function by
 * name. Included once by the file that defines the others.
 */
#ifndef CLIENTS_FMU_UNSUPPORTED_H
#define CLIENTS_FMU_UNSUPPORTED_H

#include <stddef.h>

#define FMU_EXPORT __attribute__((visibility("default")))

/* A function that does nothing and returns `result`. */
#define FMU_FUNCTION(type, name, result)                                                                               \
    FMU_EXPORT type name(void);                                                                                        \
    FMU_EXPORT type name(void)                                                                                         \
    {                                                                                                                  \
        return result;                                                                                                 \
    }
#define FMU_UNSUPPORTED(name) FMU_FUNCTION(int, name, 3 /* fmi3Error */)

FMU_FUNCTION(void *, fmi3InstantiateModelExchange, NULL)
FMU_FUNCTION(void *, fmi3InstantiateScheduledExecution, NULL)
FMU_UNSUPPORTED(fmi3EnterEventMode)
FMU_UNSUPPORTED(fmi3EnterStepMode)
FMU_UNSUPPORTED(fmi3EnterConfigurationMode)
FMU_UNSUPPORTED(fmi3ExitConfigurationMode)
FMU_UNSUPPORTED(fmi3GetFloat32)
FMU_UNSUPPORTED(fmi3GetInt8)
FMU_UNSUPPORTED(fmi3GetUInt8)
FMU_UNSUPPORTED(fmi3GetInt16)
FMU_UNSUPPORTED(fmi3GetUInt16)
FMU_UNSUPPORTED(fmi3GetInt32)
FMU_UNSUPPORTED(fmi3GetUInt32)
FMU_UNSUPPORTED(fmi3GetUInt64)
FMU_UNSUPPORTED(fmi3GetBoolean)
FMU_UNSUPPORTED(fmi3GetString)
FMU_UNSUPPORTED(fmi3GetBinary)
FMU_UNSUPPORTED(fmi3GetClock)
FMU_UNSUPPORTED(fmi3SetFloat32)
FMU_UNSUPPORTED(fmi3SetInt8)
FMU_UNSUPPORTED(fmi3SetUInt8)
FMU_UNSUPPORTED(fmi3SetInt16)
FMU_UNSUPPORTED(fmi3SetUInt16)
FMU_UNSUPPORTED(fmi3SetInt32)
FMU_UNSUPPORTED(fmi3SetUInt32)
FMU_UNSUPPORTED(fmi3SetInt64)
FMU_UNSUPPORTED(fmi3SetUInt64)
FMU_UNSUPPORTED(fmi3SetBoolean)
FMU_UNSUPPORTED(fmi3SetString)
FMU_UNSUPPORTED(fmi3SetBinary)
FMU_UNSUPPORTED(fmi3SetClock)
FMU_UNSUPPORTED(fmi3GetNumberOfVariableDependencies)
FMU_UNSUPPORTED(fmi3GetVariableDependencies)
FMU_UNSUPPORTED(fmi3GetDirectionalDerivative)
FMU_UNSUPPORTED(fmi3GetAdjointDerivative)
FMU_UNSUPPORTED(fmi3GetIntervalDecimal)
FMU_UNSUPPORTED(fmi3GetIntervalFraction)
FMU_UNSUPPORTED(fmi3GetShiftDecimal)
FMU_UNSUPPORTED(fmi3GetShiftFraction)
FMU_UNSUPPORTED(fmi3SetIntervalDecimal)
FMU_UNSUPPORTED(fmi3SetIntervalFraction)
FMU_UNSUPPORTED(fmi3SetShiftDecimal)
FMU_UNSUPPORTED(fmi3SetShiftFraction)
FMU_UNSUPPORTED(fmi3EvaluateDiscreteStates)
FMU_UNSUPPORTED(fmi3UpdateDiscreteStates)
FMU_UNSUPPORTED(fmi3EnterContinuousTimeMode)
FMU_UNSUPPORTED(fmi3CompletedIntegratorStep)
FMU_UNSUPPORTED(fmi3SetTime)
FMU_UNSUPPORTED(fmi3SetContinuousStates)
FMU_UNSUPPORTED(fmi3GetContinuousStateDerivatives)
FMU_UNSUPPORTED(fmi3GetEventIndicators)
FMU_UNSUPPORTED(fmi3GetContinuousStates)
FMU_UNSUPPORTED(fmi3GetNominalsOfContinuousStates)
FMU_UNSUPPORTED(fmi3GetNumberOfEventIndicators)
FMU_UNSUPPORTED(fmi3GetNumberOfContinuousStates)
FMU_UNSUPPORTED(fmi3GetOutputDerivatives)
FMU_UNSUPPORTED(fmi3ActivateModelPartition)

#endif
