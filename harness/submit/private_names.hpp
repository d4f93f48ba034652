// Who runs this program and where: what must not travel with a result.
#pragma once

#include "harness/result/redact.hpp"

namespace harness {

/// Home, account and host name of this process, by the environment and by the system, and the
/// project's folder; folders also with their links resolved.
PrivateNames own_private_names();

}  // namespace harness
