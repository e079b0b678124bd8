package foreigntest_test

import _ "waggle/internal/atomicfile/ordertest"
