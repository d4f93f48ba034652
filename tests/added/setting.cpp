// A setting of all workloads that the instrument does not know.
#include "harness/result/setting.hpp"

namespace {

using namespace harness;  // NOLINT(google-build-using-namespace)

const RegisterSettings registered({
    {.name = "graph_mode",
     .summary = "eager or compiled",
     .value_name = "MODE",
     .standard = "eager",
     .choices = {"eager", "compiled"}},
    {.name = "fusion",
     .scope = SettingScope::kVariant,
     .part = SetUpPart::kChosen,
     .summary = "off or on",
     .value_name = "HOW",
     .standard = "off",
     .choices = {"off", "on"}},
    {.name = "prefetch",
     .kind = SettingKind::kInteger,
     .part = SetUpPart::kChosen,
     .summary = "batches to read ahead",
     .low = 0,
     .high = 64,
     .standard = 2},
});

}  // namespace
