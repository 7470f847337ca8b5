#include "hlo/shape.h"
