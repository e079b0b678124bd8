package boxes_test

import _ "waggle/internal/atomicfile/ordertest"
