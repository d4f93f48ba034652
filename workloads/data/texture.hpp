// Backgrounds of scenes: coloured, smooth enough to compress well, never flat.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/data/image.hpp"
#include "workloads/data/random.hpp"

namespace harness::workloads {

/// Fills the whole picture: two octaves of value noise between dark colours, with wavy stripes,
/// checks or rings in two thirds of the cases. Channels stay in [16, 150], so that bright items
/// stand out. Integers only. `image` has its size and pixels allocated.
void paint_background(Image& image, CounterRandom random);

}  // namespace harness::workloads
