package transport_test

import _ "waggle/internal/atomicfile/ordertest"
