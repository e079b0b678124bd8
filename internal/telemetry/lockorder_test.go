package telemetry_test

import _ "waggle/internal/atomicfile/ordertest"
