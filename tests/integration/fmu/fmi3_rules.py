"""Rules of FMI 3.0 (section 2.4 and 4.4) for a modelDescription.xml, written from the standard's text: structure, attributes, references."""
import re
import xml.etree.ElementTree as ET

VARIABLE = {"name", "valueReference", "description", "causality", "variability", "start", "unit", "initial", "declaredType", "min", "max"}
ATTRIBUTES = {
    "fmiModelDescription": {"fmiVersion", "modelName", "instantiationToken", "description", "generationTool", "variableNamingConvention"},
    "CoSimulation": {"modelIdentifier", "canHandleVariableCommunicationStepSize", "fixedInternalStepSize", "canGetAndSetFMUState",
                     "canSerializeFMUState", "hasEventMode"},
    "UnitDefinitions": set(), "Unit": {"name"}, "BaseUnit": {"kg", "m", "s", "A", "K", "mol", "cd", "rad", "factor", "offset"},
    "DefaultExperiment": {"startTime", "stopTime", "stepSize", "tolerance"}, "ModelVariables": set(), "ModelStructure": set(),
    "Float64": VARIABLE, "Float32": VARIABLE, "Int64": VARIABLE - {"unit"}, "Dimension": {"start", "valueReference"},
    "Output": {"valueReference", "dependencies"}, "InitialUnknown": {"valueReference", "dependencies"}}
REQUIRED = {"fmiModelDescription": {"fmiVersion", "modelName", "instantiationToken"}, "CoSimulation": {"modelIdentifier"}, "Unit": {"name"},
            "Float64": {"name", "valueReference"}, "Int64": {"name", "valueReference"}, "Output": {"valueReference"},
            "InitialUnknown": {"valueReference"}}
ORDER = ["CoSimulation", "UnitDefinitions", "DefaultExperiment", "ModelVariables", "ModelStructure"]
VARIABILITIES = {"constant", "fixed", "tunable", "discrete", "continuous"}
CAUSALITIES = {"parameter", "calculatedParameter", "input", "output", "local", "independent", "structuralParameter"}


def element_rules(element):
    allowed = ATTRIBUTES.get(element.tag)
    if allowed is None:
        return [f"element {element.tag} is unknown here"]
    broken = [f"{element.tag}: attribute {name}" for name in element.attrib if name not in allowed]
    return broken + [f"{element.tag}: no {name}" for name in REQUIRED.get(element.tag, ()) if name not in element.attrib]


def variable_rules(variable, units):
    get, broken = variable.attrib.get, []
    name, causality = get("name"), get("causality", "local")
    is_float = variable.tag.startswith("Float")
    variability = get("variability", "continuous" if is_float else "discrete")
    if causality not in CAUSALITIES:
        broken.append(f"{name}: causality '{causality}'")
    if variability not in VARIABILITIES:
        broken.append(f"{name}: variability '{variability}'")
    if variability == "continuous" and not is_float:
        broken.append(f"{name}: only floating-point variables are continuous")
    if causality in ("parameter", "structuralParameter") and variability not in ("fixed", "tunable"):
        broken.append(f"{name}: a parameter is fixed or tunable")
    if (causality in ("input", "parameter", "structuralParameter") or get("initial") in ("exact", "approx")) and get("start") is None:
        broken.append(f"{name}: without start")
    if (get("initial") == "calculated" or causality == "independent") and get("start") is not None:
        broken.append(f"{name}: a calculated variable has no start")
    if causality in ("input", "independent") and get("initial") is not None:
        broken.append(f"{name}: an input has no initial")
    if get("unit") is not None and get("unit") not in units:
        broken.append(f"{name}: unit '{get('unit')}' is not defined")
    return broken


def structure_rules(root, variables):
    """All outputs are listed, and as unknowns of the initialization those that are calculated."""
    by_reference = {variable.get("valueReference"): variable for variable in variables}
    listed = {kind: [item.get("valueReference") for item in root.findall(f"ModelStructure/{kind}")] for kind in ("Output", "InitialUnknown")}
    outputs = [reference for reference, variable in by_reference.items() if variable.get("causality") == "output"]
    broken = []
    if sorted(listed["Output"]) != sorted(outputs):
        broken.append("the outputs of ModelStructure are not the variables with causality output")
    unknowns = [reference for reference in outputs if by_reference[reference].get("initial", "calculated") in ("approx", "calculated")]
    if sorted(listed["InitialUnknown"]) != sorted(unknowns):
        broken.append("the initial unknowns of ModelStructure are not the calculated outputs")
    return broken


def twice(values):
    return sorted({value for value in values if values.count(value) > 1})


def broken_rules(text):
    root = ET.fromstring(text)
    broken = [rule for element in root.iter() for rule in element_rules(element)]
    if root.tag != "fmiModelDescription" or not re.fullmatch(r"3\.0(\.\d+)?", root.get("fmiVersion", "")):
        broken.append("no description of FMI 3.0")
    if [child.tag for child in root] != [tag for tag in ORDER if root.find(tag) is not None]:
        broken.append("the children are in another order")
    variables = list(root.find("ModelVariables"))
    units = {unit.get("name") for unit in root.findall("UnitDefinitions/Unit")}
    broken += [f"name {name} twice" for name in twice([variable.get("name") for variable in variables])]
    broken += [f"valueReference {number} twice" for number in twice([variable.get("valueReference") for variable in variables])]
    broken += [f"unit {name} twice" for name in twice([unit.get("name") for unit in root.findall("UnitDefinitions/Unit")])]
    if [variable.get("causality") for variable in variables].count("independent") != 1:
        broken.append("one variable is independent")
    if not re.fullmatch(r"[A-Za-z_]\w*", root.find("CoSimulation").get("modelIdentifier", "")):
        broken.append("the modelIdentifier is no name of C")
    return broken + [rule for variable in variables for rule in variable_rules(variable, units)] + structure_rules(root, variables)
