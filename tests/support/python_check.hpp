// Other people's programs asked about a result file: is the schema one, does the file fit it, and
// does its digest come out of Python's own JSON.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/result/schema.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

/// Checks `file` of `kind`, and that an unknown member of each object in `closed` (JSON pointers)
/// is refused. Warns where Python's jsonschema is not installed.
inline void check_with_python(const std::string& kind, const std::filesystem::path& file,
                              const std::vector<std::string>& closed = {""}) {
  if (std::system("python3 -W ignore -c 'import jsonschema' 2>/dev/null") != 0) {
    WARN("skipped: Python's jsonschema is not installed");
    return;
  }
  const TemporaryFolder folder;
  std::ofstream(folder / "check.py") << R"(
import decimal, hashlib, json, math, os, sys
from jsonschema import Draft7Validator

schema, document = (json.load(open(name)) for name in sys.argv[1:3])
folder = os.path.dirname(sys.argv[1])
others = {name: json.load(open(os.path.join(folder, name))) for name in os.listdir(folder)}
try:
    from referencing import Registry, Resource
    pairs = [(name, Resource.from_contents(other)) for name, other in others.items()]
    validator = Draft7Validator(schema, registry=Registry().with_resources(pairs))
except ImportError:
    from jsonschema import RefResolver
    validator = Draft7Validator(schema, resolver=RefResolver("", schema, store=others))
Draft7Validator.check_schema(schema)
validator.validate(document)
for part in sys.argv[3:]:  # JSON pointers of objects
    inner = broken = json.loads(json.dumps(document))
    for step in part.split("/")[1:]: inner = inner[int(step) if isinstance(inner, list) else step]
    inner["unknown"] = 1
    assert not validator.is_valid(broken), "unknown fields pass at " + part

def number(x):
    if isinstance(x, int): return str(x)
    if x == 0: return "0"
    if x == math.floor(x) and abs(x) < 1e21: return str(int(x))
    text = repr(x)
    if "e" in text:
        mantissa, exponent = text.split("e")
        if -7 < int(exponent) < 0: return format(decimal.Decimal(text), "f")
        return mantissa.removesuffix(".0") + "e" + ("+" if int(exponent) > 0 else "-") + str(abs(int(exponent)))
    return text

def canonical(v):
    if v is None or isinstance(v, bool) or isinstance(v, str): return json.dumps(v, ensure_ascii=False)
    if isinstance(v, (int, float)): return number(v)
    if isinstance(v, list): return "[" + ",".join(map(canonical, v)) + "]"
    keys = sorted(v, key=lambda k: k.encode("utf-16-be"))
    return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + canonical(v[k]) for k in keys) + "}"

digest = document.pop("digest")
assert hashlib.sha256(canonical(document).encode()).hexdigest() == digest, "another digest"
)";
  std::string command = "python3 -W ignore '" + (folder / "check.py").string() + "' '" +
                        result_schema_path(kind).string() + "' '" + file.string() + "'";
  for (const std::string& part : closed) command += " '" + part + "'";
  CHECK(std::system(command.c_str()) == 0);
}

}  // namespace harness
