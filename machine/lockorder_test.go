package machine_test

import _ "waggle/internal/atomicfile/ordertest"
