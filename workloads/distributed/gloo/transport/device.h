// Of gloo, which LibTorch holds without its headers: named by LibTorch's own header, behind
// pointers.
#pragma once

namespace gloo::transport {

class Device;
class UnboundBuffer;

}  // namespace gloo::transport
