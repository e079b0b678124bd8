package record_test

import _ "waggle/internal/atomicfile/ordertest"
