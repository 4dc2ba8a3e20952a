// In place of gloo's own header: see README.md.
#pragma once

namespace gloo::transport {

class Device;

}  // namespace gloo::transport
