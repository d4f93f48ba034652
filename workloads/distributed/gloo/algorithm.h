// LibTorch's header of its gloo backend includes this and uses nothing of it.
#pragma once
