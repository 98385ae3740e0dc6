// Machine events belong to hw/, since host/profile reads them too.
#pragma once

#include "hw/event.h"
