package claudesessions_test

import _ "waggle/internal/atomicfile/ordertest"
