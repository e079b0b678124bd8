package bridge_test

import _ "waggle/internal/atomicfile/ordertest"
