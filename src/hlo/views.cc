#include "hlo/views.h"
